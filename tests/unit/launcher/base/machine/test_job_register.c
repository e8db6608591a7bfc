/* SPDX-License-Identifier: MIT */
/* test_job_register.c: an entry is written for its user alone, found while its mlaunch lives, and
 * left aside if it is damaged, open to others or from elsewhere. */
#include "launcher/base/machine/job_register.h"

#include "launcher/base/machine/place_lock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[] = "/tmp/mlaunch-unit.XXXXXX";

static void entry_make(struct register_entry *e, const char *job, const char *name)
{
    *e = (struct register_entry){.state = REGISTER_RUNNING, .restart = 2, .restarts = 5};
    job_register_describe(e);
    snprintf(e->file.job, sizeof(e->file.job), "%s", job);
    snprintf(e->file.name, sizeof(e->file.name), "%s", name);
    snprintf(e->file.command, sizeof(e->file.command), "true");
    e->file.size = 8;
    e->hosts = json_pack("[{ss ss si}, {ss ss si}]", "name", "a", "user", "", "port", 0, "name",
                         "b", "user", "me", "port", 2222);
    e->reach =
        json_pack("{ss ss ss}", "ssh_config", "/etc/config", "agent", "", "agent_command", "");
}

/* Writes an entry and forgets about it. */
static void entry_put(struct register_entry *e, struct job_register *r)
{
    struct fault why;

    assert_int_equal(job_register_write(r, base, e, &why), 0);
    register_entry_clear(e);
}

static size_t entries_count(void)
{
    struct register_list l;
    struct fault why;
    size_t count;

    assert_int_equal(job_register_list(&l, base, &why), 0);
    count = l.count;
    job_register_list_clear(&l);
    return count;
}

static void mode_check(const char *path, unsigned mode)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, mode);
}

static void is_found_as_it_was_written(void **state)
{
    struct job_register r = {0};
    char parent[USER_DIRECTORY_PATH], text[REGISTER_STATE_TEXT];
    const struct register_entry *e;
    struct register_entry mine;
    struct register_list l;
    struct fault why;

    (void)state;
    entry_make(&mine, "1abc-def", "train");
    entry_put(&mine, &r);
    mode_check(r.path, 0600);
    snprintf(parent, sizeof(parent), "%s/mlaunch-%u", base, (unsigned)geteuid());
    mode_check(parent, 0700);

    assert_int_equal(job_register_list(&l, base, &why), 0);
    assert_int_equal(l.count, 1);
    e = &l.found[0].entry;
    assert_string_equal(l.found[0].path, r.path);
    assert_true(l.found[0].lives);
    assert_string_equal(e->file.command, "true");
    assert_int_equal(e->file.size, 8);
    assert_int_equal(json_array_size(e->hosts), 2);
    register_entry_state(e, text);
    assert_string_equal(text, "running");
    assert_true(job_register_is_asked(&l.found[0], ""));
    assert_true(job_register_is_asked(&l.found[0], "1abc-def"));
    assert_true(job_register_is_asked(&l.found[0], "train"));
    assert_false(job_register_is_asked(&l.found[0], "trai"));
    job_register_list_clear(&l);

    entry_make(&mine, "1abc-def", "train");
    mine.state = REGISTER_RESTARTING;
    entry_put(&mine, &r);
    assert_int_equal(job_register_list(&l, base, &why), 0);
    assert_int_equal(l.count, 1);
    register_entry_state(&l.found[0].entry, text);
    assert_string_equal(text, "restarting 2 of 5");
    job_register_list_clear(&l);

    job_register_remove(&r);
    assert_string_equal(r.path, "");
    assert_int_equal(access(parent, F_OK), -1);
    job_register_remove(&r);
}

static void an_ended_mlaunch_is_known(void **state)
{
    struct job_register r[3] = {0};
    struct register_entry e;
    struct register_list l;
    struct fault why;

    (void)state;
    entry_make(&e, "1", "");
    entry_put(&e, &r[0]);
    entry_make(&e, "2", "");
    e.file.agent_start_time++; /* its pid belongs to another process by now */
    e.file.started_at++;
    entry_put(&e, &r[1]);
    entry_make(&e, "3", "");
    e.file.boot[0] = e.file.boot[0] == '0' ? '1' : '0'; /* before the machine was booted */
    e.file.started_at = 1;
    entry_put(&e, &r[2]);

    assert_int_equal(job_register_list(&l, base, &why), 0);
    assert_int_equal(l.count, 3);
    assert_string_equal(l.found[0].entry.file.job, "3");
    assert_false(l.found[0].lives);
    assert_true(l.found[1].lives);
    assert_false(l.found[2].lives);
    assert_int_equal(job_register_forget(&l.found[0]), 0);
    assert_int_equal(job_register_forget(&l.found[2]), 0);
    assert_int_equal(job_register_forget(&l.found[2]), 0);
    assert_int_equal(access(r[0].path, F_OK), 0);
    assert_int_equal(job_register_signal(&l.found[2], SIGKILL), -1);
    job_register_list_clear(&l);
    job_register_remove(&r[0]);
}

static void a_process_is_signalled_by_its_identity(void **state)
{
    struct job_register r = {0};
    struct register_entry e;
    struct register_list l;
    struct fault why;
    int ends[2], status;
    pid_t child;
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        entry_make(&e, "1", "");
        if (job_register_write(&r, base, &e, &why) == 0)
            (void)!write(ends[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(job_register_list(&l, base, &why), 0);
    assert_int_equal(l.count, 1);
    assert_false(job_register_await(&l.found[0], 1));
    assert_int_equal(job_register_signal(&l.found[0], SIGTERM), 0);
    assert_true(job_register_await(&l.found[0], 60000));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(job_register_signal(&l.found[0], SIGTERM), -1);
    assert_int_equal(job_register_forget(&l.found[0]), 0);
    job_register_list_clear(&l);
    close(ends[0]);
    close(ends[1]);
}

static void what_is_not_ones_own_is_left_aside(void **state)
{
    char path[USER_DIRECTORY_PATH + 32], parent[USER_DIRECTORY_PATH];
    struct job_register r = {0}, other = {0};
    struct register_entry e;
    FILE *f;

    (void)state;
    entry_make(&e, "1", "");
    entry_put(&e, &r);
    assert_int_equal(entries_count(), 1);
    assert_int_equal(chmod(r.path, 0640), 0);
    assert_int_equal(entries_count(), 0);
    assert_int_equal(chmod(r.path, 0600), 0);
    snprintf(parent, sizeof(parent), "%s/mlaunch-%u", base, (unsigned)geteuid());
    assert_int_equal(chmod(parent, 0755), 0);
    assert_int_equal(entries_count(), 0);
    assert_int_equal(chmod(parent, 0700), 0);

    snprintf(path, sizeof(path), "%s/run.2", parent);
    assert_int_equal(symlink(r.path, path), 0);
    assert_int_equal(entries_count(), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(entries_count(), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(link(r.path, path), 0); /* its name is another job's */
    assert_int_equal(entries_count(), 1);
    assert_int_equal(unlink(path), 0);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fchmod(fileno(f), 0600), 0);
    assert_true(fputs("{\"job\": \"2\"", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(entries_count(), 1);
    assert_int_equal(unlink(path), 0);

    entry_make(&e, "3", "");
    e.file.pid_namespace++;
    entry_put(&e, &other);
    assert_int_equal(entries_count(), 1);
    job_register_remove(&other);
    job_register_remove(&r);
}

static void one_that_cannot_be_written_has_a_sentence(void **state)
{
    struct job_register r = {0};
    struct register_entry e;
    struct fault why;

    (void)state;
    entry_make(&e, "1", "");
    assert_int_equal(job_register_write(&r, "/dev/null", &e, &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "cannot make /dev/null/mlaunch-"));
    assert_string_equal(r.path, "");
    register_entry_clear(&e);
}

/* Each of these in place of a member makes the whole malformed. */
static void a_malformed_one_is_refused(void **state)
{
    static const struct {
        const char *member, *text;
    } cases[] = {{"job", "7"},
                 {"job", NULL},
                 {"state", "\"sleeping\""},
                 {"state", "1"},
                 {"restart", "-1"},
                 {"restarts", "4294967296"},
                 {"agent_pid", "1"},
                 {"agent_pid", "4294967296"},
                 {"agent_start_time", "-1"},
                 {"boot", "\"0123456789012345678901234567890123456789\""},
                 {"host_list", "{}"},
                 {"host_list", "[1]"},
                 {"host_list", "[{\"name\": \"\", \"user\": \"\", \"port\": 0}]"},
                 {"host_list", "[{\"name\": \"-oProxyCommand=x\", \"user\": \"\", \"port\": 0}]"},
                 {"host_list", "[{\"name\": \"a\", \"user\": \"\", \"port\": 65536}]"},
                 {"door", "7"},
                 {"door", "{\"path\": \"\", \"hosts\": []}"},
                 {"door", "{\"path\": \"/d\"}"},
                 {"door", "{\"path\": \"/d\", \"hosts\": [{\"name\": \"-x\", \"index\": 0}]}"},
                 {"door", "{\"path\": \"/d\", \"hosts\": [{\"name\": \"a\", \"index\": -1}]}"},
                 {"reach", "[]"},
                 {"reach", "{\"ssh_config\": \"\", \"agent\": \"\"}"}};
    struct register_entry e, out;
    struct fault why = {0};
    char *text;

    (void)state;
    entry_make(&e, "1", "");
    text = register_entry_text(&e);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *object = json_loads(text, 0, NULL);

        assert_int_equal(register_entry_take(&out, "x", object, &why), 0);
        register_entry_clear(&out);
        if (cases[i].text)
            json_object_set_new(object, cases[i].member,
                                json_loads(cases[i].text, JSON_DECODE_ANY, NULL));
        else
            json_object_del(object, cases[i].member);
        assert_int_equal(register_entry_take(&out, "x", object, &why), ML_ERR_SYSTEM);
        assert_non_null(strstr(why.text, "is missing or malformed"));
        json_decref(object);
    }
    assert_int_equal(register_entry_take(&out, "x", NULL, &why), ML_ERR_SYSTEM);
    free(text);
    register_entry_clear(&e);
}

/* A tidy system, or the user, has removed all. */
static void one_that_was_removed_is_written_again(void **state)
{
    struct job_register r = {0};
    char parent[USER_DIRECTORY_PATH];
    struct register_entry mine;

    (void)state;
    entry_make(&mine, "1abc-def", "train");
    entry_put(&mine, &r);
    snprintf(parent, sizeof(parent), "%s/mlaunch-%u", base, (unsigned)geteuid());
    assert_true(place_lock_is_held(AT_FDCWD, parent));
    assert_int_equal(unlink(r.path) | rmdir(parent), 0);

    entry_make(&mine, "1abc-def", "train");
    entry_put(&mine, &r);
    mode_check(r.path, 0600);
    assert_true(place_lock_is_held(AT_FDCWD, parent));
    job_register_remove(&r);
    assert_int_equal(access(parent, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_found_as_it_was_written),
        cmocka_unit_test(an_ended_mlaunch_is_known),
        cmocka_unit_test(a_process_is_signalled_by_its_identity),
        cmocka_unit_test(what_is_not_ones_own_is_left_aside),
        cmocka_unit_test(one_that_cannot_be_written_has_a_sentence),
        cmocka_unit_test(a_malformed_one_is_refused),
        cmocka_unit_test(one_that_was_removed_is_written_again),
    };
    int failed;

    if (!mkdtemp(base))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(base) || failed;
}
