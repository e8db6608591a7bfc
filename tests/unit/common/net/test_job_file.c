/* SPDX-License-Identifier: MIT */
#include "common/net/job_file.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t secret[AUTH_SECRET] = {0xab, 1, 2};
static const struct job_file job = {
    .job = "20240101-abc",
    .name = "llm",
    .host = "node \"a\" \\ ü",
    .host_rank = 1,
    .hosts = 3,
    .size = 12,
    .backend = "tcp",
    .local_net = true,
    .secure = true,
    .elastic = true,
    .coordinator = "[fe80::1%2]:4711",
    .bind_ip = "10.0.0.2",
    .starting_port = 5000,
    .init_timeout_ms = 60000,
    .stall_ms = 30000,
    .agent_pid = 4194304,
    .agent_start_time = INT64_MAX,
    .guard_pid = 77,
    .guard_start_time = 12345678901,
    .pid_namespace = 4026531836,
    .boot = "0c0f2a35-8d4f-4d3c-9ef6-5b1e1c3b6f0a",
    .node = "a.cluster",
    .grace_ms = 5000,
    .command = "prog --x 'a b'",
    .started_at = 1700000000,
};

static void knows_names(void **state)
{
    static const char *const good[] = {"llm", "a", "Z9._-x",
                                       "a234567890123456789012345678901234567890", NULL};
    static const char *const bad[] = {"",
                                      "1llm",
                                      ".a",
                                      "-a",
                                      "a b",
                                      "a/b",
                                      "a\n",
                                      "\xc3\xa4",
                                      "1ngk8fs-q4z7cd",
                                      "a2345678901234567890123456789012345678901",
                                      NULL};

    (void)state;
    for (int i = 0; good[i]; i++)
        assert_true(job_file_is_name(good[i]));
    for (int i = 0; bad[i]; i++)
        assert_false(job_file_is_name(bad[i]));
}

static int make_dir(void **state)
{
    *state = strdup("/tmp/mlaunch-test-job-file.XXXXXX");
    return *state && mkdtemp(*state) ? 0 : -1;
}

static void path_of(char out[PATH_MAX], const char *dir, const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", dir, name);
}

static int remove_dir(void **state)
{
    char path[PATH_MAX];

    path_of(path, *state, "job.json");
    unlink(path);
    rmdir(*state);
    free(*state);
    return 0;
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *f;

    path_of(path, dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_back_and_forth(void **state)
{
    uint8_t got[AUTH_SECRET];
    struct job_file back;
    char path[PATH_MAX];
    struct fault why;
    struct stat st;

    assert_int_equal(job_file_write(*state, &job, secret, &why), 0);
    assert_int_equal(job_file_write(*state, &job, secret, &why), 0); /* replaces */
    assert_int_equal(job_file_read(*state, &back, got, &why), 0);
    assert_memory_equal(got, secret, sizeof(got));
    assert_string_equal(back.job, job.job);
    assert_string_equal(back.host, job.host);
    assert_string_equal(back.backend, job.backend);
    assert_string_equal(back.coordinator, job.coordinator);
    assert_string_equal(back.bind_ip, job.bind_ip);
    assert_string_equal(back.command, job.command);
    assert_string_equal(back.name, job.name);
    assert_int_equal(back.host_rank, job.host_rank);
    assert_int_equal(back.hosts, job.hosts);
    assert_int_equal(back.size, job.size);
    assert_true(back.local_net);
    assert_true(back.secure);
    assert_true(back.elastic);
    assert_int_equal(back.starting_port, job.starting_port);
    assert_int_equal(back.init_timeout_ms, job.init_timeout_ms);
    assert_int_equal(back.stall_ms, job.stall_ms);
    assert_true(back.agent_pid == job.agent_pid && back.guard_pid == job.guard_pid);
    assert_true(back.agent_start_time == job.agent_start_time);
    assert_true(back.guard_start_time == job.guard_start_time);
    assert_true(back.started_at == job.started_at);
    assert_true(back.pid_namespace == job.pid_namespace);
    assert_string_equal(back.boot, job.boot);
    assert_string_equal(back.node, job.node);
    assert_int_equal(back.grace_ms, job.grace_ms);
    path_of(path, *state, "job.json");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* job_file_look, as used by ps and clean: any file may be there, and links are not followed. */
static void test_look_from_outside(void **state)
{
    char path[PATH_MAX], other[PATH_MAX];
    int fd = open(*state, O_RDONLY | O_DIRECTORY);
    struct job_file back = {.size = 99};
    struct fault why;

    assert_int_equal(job_file_write(*state, &job, secret, &why), 0);
    assert_int_equal(job_file_look(fd, &back, &why), 0);
    assert_string_equal(back.job, job.job);
    back.size = 99;
    path_of(path, *state, "job.json");
    path_of(other, *state, "other");
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(job_file_look(fd, &back, &why), ML_ERR_SYSTEM);
    assert_int_equal(symlink("other", path), 0);
    assert_int_equal(job_file_look(fd, &back, &why), ML_ERR_SYSTEM);
    unlink(path);
    unlink(other);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(job_file_look(fd, &back, &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "plain file"));
    assert_int_equal(back.size, 99);
    unlink(path);
    close(fd);
}

static void test_bytes_that_are_no_text(void **state)
{
    struct job_file odd = job, back;
    uint8_t got[AUTH_SECRET];
    struct fault why;

    snprintf(odd.command, sizeof(odd.command), "prog \xff\xfe x");
    assert_int_equal(job_file_write(*state, &odd, secret, &why), 0);
    assert_int_equal(job_file_read(*state, &back, got, &why), 0);
    assert_string_equal(back.command, "prog ?? x");
}

static void expect_refused(const char *dir, const char *word)
{
    uint8_t got[AUTH_SECRET] = {5};
    struct job_file back = {.size = 99};
    struct fault why;

    assert_int_equal(job_file_read(dir, &back, got, &why), ML_ERR_SYSTEM);
    if (!strstr(why.text, word))
        fail_msg("\"%s\" does not say \"%s\"", why.text, word);
    /* Nothing changes on failure. */
    assert_int_equal(back.size, 99);
    assert_int_equal(got[0], 5);
}

static void test_malformed(void **state)
{
    static const char *const secrets[] = {NULL, "", "abcd", "no number"};
    char *path, *text = calloc(1, 70001);

    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        json_t *object = job_file_object(&job);
        char *dump;

        if (secrets[i])
            json_object_set_new(object, "secret", json_string(secrets[i]));
        dump = json_dumps(object, 0);
        write_text(*state, "job.json", dump);
        expect_refused(*state, "job.json: \"secret\" is missing or malformed");
        free(dump);
        json_decref(object);
    }
    path_of(text, *state, "job.json");
    unlink(text);
    expect_refused(*state, "job.json: No such file or directory");
    write_text(*state, "job.json", "{\"job\": ");
    expect_refused(*state, "job.json is malformed");
    write_text(*state, "job.json", "[]");
    expect_refused(*state, "\"job\" is missing or malformed");
    write_text(*state, "job.json", "{}");
    expect_refused(*state, "\"job\" is missing or malformed");
    write_text(*state, "job.json", "{\"job\": \"x\", \"host\": 3}");
    expect_refused(*state, "\"host\" is missing or malformed");
    write_text(*state, "job.json", "{\"job\": \"x\", \"host\": \"a\", \"host_rank\": 4294967296}");
    expect_refused(*state, "\"host_rank\" is missing or malformed");
    memset(text, 'x', 70000);
    write_text(*state, "job.json", text);
    expect_refused(*state, "job.json is too long");
    free(text);
    path = calloc(1, PATH_MAX + 10);
    memset(path, 'p', PATH_MAX + 5);
    expect_refused(path, "too long");
    free(path);
}

static void test_nowhere_to_write(void **state)
{
    struct fault why;

    (void)state;
    assert_int_equal(job_file_write("/nonexistent/dir", &job, secret, &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/nonexistent/dir/job.json.new: No such file or directory"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_names),
        cmocka_unit_test_setup_teardown(test_back_and_forth, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_look_from_outside, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_bytes_that_are_no_text, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_malformed, make_dir, remove_dir),
        cmocka_unit_test(test_nowhere_to_write),
    };

    return cmocka_run_group_tests_name("job_file", tests, NULL, NULL);
}
