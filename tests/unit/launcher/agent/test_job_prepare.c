/* SPDX-License-Identifier: MIT */
/*
 * test_job_prepare.c: what an agent answers to a JOB, and to the files that belong to it. The test
 * has the launcher's end of the channel. Whatever is refused leaves nothing behind.
 */
#include "launcher/agent/job_prepare.h"

#include "common/text/parsed_json.h"
#include "launcher/agent/agent_run.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/base/process/install_path.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <glob.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    struct agent agent;
    int fd, guard; /* the launcher's end of the channel, and the guard's */
    struct frame_reader *reader;
    char ended[128]; /* why the channel has ended, or "" */
};

static char job_name[32];
static const char *installed; /* where mlaunch is; NULL: parts of it are missing */

int __wrap_install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why);
int __wrap_install_path_find_directory(char out[PATH_MAX], enum install_part part,
                                       struct fault *why);

int __wrap_install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why)
{
    if (!installed)
        return fault_set(why, ML_ERR_SYSTEM, "part %d is missing", (int)part);
    snprintf(out, PATH_MAX, "%s/%s", installed, part == INSTALL_SHIM ? "libmlaunch.so.0" : "x");
    return 0;
}

int __wrap_install_path_find_directory(char out[PATH_MAX], enum install_part part,
                                       struct fault *why)
{
    return __wrap_install_path_find(out, part, why);
}

/* A job of two ranks on this host. Members of `with`, an object, replace those of it. */
static char *job_text(const char *with)
{
    json_t *job = json_pack(
        "{ss si si ss si si si ss s[s] s[ii] s[s] ss sb sb sb ss ss si si si si si sb ss ss "
        "ss ss si s[] ss ss s[{s[s] s[] ss}] s[{si si si}{si si si}]}",
        "job", job_name, "restart", 0, "restarts", 0, "secret",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "size", 2, "hosts", 1,
        "host", 0, "host_name", "here", "host_names", "here", "host_of", 0, 0, "addresses", "",
        "backend", "none", "local_net", 0, "secure", 0, "compat", 0, "bind_ip", "", "peer", "",
        "port", 0, "starting_port", 0, "init_timeout_ms", 60000, "stall_ms", 30000, "grace_ms", 100,
        "eager", 0, "command", "true", "buffer", "none", "mpi", "none", "stdin", "none",
        "stdin_rank", 0, "env", "cwd", "/", "host_cwd", "", "apps", "argv", "true", "env", "cwd",
        "", "ranks", "rank", 0, "local_rank", 0, "app", 0, "rank", 1, "local_rank", 1, "app", 0);
    json_t *other = json_loads(with, 0, NULL);
    char *text;

    assert_non_null(job);
    assert_non_null(other);
    json_object_set_new(job, "prolog", json_string(""));
    json_object_set_new(job, "epilog", json_string(""));
    json_object_set_new(job, "tmpdir", json_string(""));
    json_object_set_new(job, "mount", json_string(""));
    json_object_set_new(job, "container", json_string(""));
    json_object_set_new(job, "name", json_string(""));
    json_object_set_new(job, "signal_children", json_false());
    json_object_set_new(job, "elastic", json_integer(0));
    json_object_set_new(job, "keep", json_integer(1));
    json_object_set_new(job, "replace_wait_ms", json_integer(0));
    json_object_set_new(job, "flight_recorder", json_false());
    json_object_set_new(job, "stop_signal", json_string("none"));
    json_object_set_new(job, "fold_ms", json_integer(0));
    json_object_set_new(job, "wiring", json_null());
    json_object_update(job, other);
    text = json_dumps(job, JSON_COMPACT);
    assert_non_null(text);
    json_decref(other);
    json_decref(job);
    return text;
}

static void on_frame(const struct frame *f, void *arg)
{
    (void)f, (void)arg;
    fail_msg("the launcher sends no frame");
}

static void on_end(const char *why, void *arg)
{
    struct scene *s = arg;

    snprintf(s->ended, sizeof(s->ended), "%s", why ? why : "closed");
}

static void on_check(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
}

static void scene_make(struct scene *s)
{
    const struct frame_stream_events events = {on_frame, on_end, NULL, s};
    struct agent *a = &s->agent;
    struct fault why;
    int pair[2], guard[2];

    memset(s, 0, sizeof(*s));
    installed = "/opt/mlaunch";
    agent_run_open(a);
    memcpy(a->directory.locks, (int[])JOB_DIRECTORY_UNLOCKED, sizeof(a->directory.locks));
    a->base = event_base_new();
    assert_non_null(a->base);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, guard), 0);
    s->fd = pair[1];
    a->guard_fd = guard[0];
    s->guard = guard[1];
    spawn_prepare(&a->limits);
    assert_int_equal(
        frame_stream_open(&a->launcher.channel, a->base, pair[0], pair[0], &events, &why), 0);
    assert_int_equal(frame_reader_create(&s->reader, FRAME_LIMIT, &why), 0);
    a->check_event = event_new(a->base, -1, 0, on_check, a);
    assert_non_null(a->check_event);
    job_place_find_ahead(a);
}

/* As at the end of the agent. */
static void job_release(struct scene *s)
{
    agent_run_end_job(&s->agent);
    job_place_remove(&s->agent);
}

static int scene_open(void **state)
{
    static struct scene scene;

    scene_make(*state = &scene);
    return 0;
}

/* How many directories of this test's jobs there are. */
static size_t directories_left(void)
{
    char pattern[64];
    size_t count;
    glob_t g;

    snprintf(pattern, sizeof(pattern), "/tmp/mlaunch-*/%s*", job_name);
    count = glob(pattern, 0, NULL, &g) ? 0 : g.gl_pathc;
    globfree(&g);
    return count;
}

static void scene_free(struct scene *s)
{
    job_release(s);
    event_free(s->agent.check_event);
    frame_stream_close(s->agent.launcher.channel);
    event_base_free(s->agent.base);
    close(s->agent.guard_fd);
    close(s->guard);
    close(s->fd);
    frame_reader_destroy(s->reader);
}

static int scene_close(void **state)
{
    scene_free(*state);
    assert_int_equal(directories_left(), 0);
    return 0;
}

/* The next frame of the agent. Its type is 0 if there is none. */
static struct frame hear(struct scene *s)
{
    struct frame f = {0};
    struct fault why;
    char bytes[8192];
    int rc;

    event_base_loop(s->agent.base, EVLOOP_NONBLOCK);
    while ((rc = frame_reader_next(s->reader, &f, &why)) == 0) {
        ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n <= 0)
            return (struct frame){0};
        assert_int_equal(frame_reader_feed(s->reader, bytes, (size_t)n, &why), 0);
    }
    assert_int_equal(rc, 1);
    return f;
}

static json_t *hear_json(struct scene *s, int type)
{
    struct frame f = hear(s);
    json_t *said = parsed_json((const char *)f.payload, f.size, 0, NULL);

    if (f.type != type)
        fail_msg("frame %d instead of %d: %.*s", f.type, type, (int)f.size,
                 f.size ? (const char *)f.payload : "");
    assert_non_null(said);
    return said;
}

static void prepare(struct scene *s, const char *with)
{
    char *text = job_text(with);

    job_prepare(&s->agent, text, strlen(text));
    free(text);
}

/* READY comes, with that many warnings, of which `warning` is in the first. */
static void expect_ready(struct scene *s, size_t warnings, const char *warning)
{
    json_t *said = hear_json(s, AGENT_READY), *all = json_object_get(said, "warnings");

    assert_int_equal(json_array_size(all), warnings);
    if (warnings)
        assert_non_null(strstr(json_string_value(json_array_get(all, 0)), warning));
    assert_false(json_is_true(json_object_get(said, "pmix")));
    json_decref(said);
    assert_int_equal(s->agent.run.state, AGENT_IS_READY);
    assert_int_equal(directories_left(), 1);
}

static void expect_refused(struct scene *s, const char *text)
{
    json_t *said = hear_json(s, AGENT_REFUSED);
    const char *why = json_string_value(json_object_get(said, "text"));

    assert_non_null(why);
    if (!strstr(why, text))
        fail_msg("'%s' instead of '%s'", why, text);
    json_decref(said);
    assert_true(s->agent.run.is_refused);
    assert_null(s->agent.run.job);
    assert_int_equal(directories_left(), 0);
    assert_int_equal(hear(s).type, 0);
}

/* --- a job that is accepted ------------------------------------------------------------------- */

static void test_ready(void **state)
{
    struct scene *s = *state;
    char path[JOB_DIRECTORY_PATH + 16], told[JOB_DIRECTORY_PATH] = "";

    prepare(s, "{}");
    expect_ready(s, 0, NULL);
    assert_string_equal(s->agent.run.coordinator, "");
    assert_string_equal(s->agent.run.place.shim, ""); /* nothing is to be preloaded */
    assert_string_equal(s->agent.run.place.cwds[0], "/");
    snprintf(path, sizeof(path), "%s/job.json", s->agent.directory.path);
    assert_int_equal(access(path, R_OK), 0);
    /* The guard knows the directory, in case the agent dies. */
    assert_true(recv(s->guard, told, sizeof(told) - 1, MSG_DONTWAIT) > 0);
    job_release(s);
    assert_int_equal(access(path, F_OK), -1);
    job_release(s); /* there is no job any more */
}

static void test_directory(void **state)
{
    struct scene *s = *state;

    prepare(s, "{\"cwd\": \"/nonexistent\"}");
    expect_ready(s, 1, "there is no directory /nonexistent: its ranks start in ");
}

/* The host of rank 0 has the coordinator. */
static void test_coordinator(void **state)
{
    struct scene *s = *state;
    json_t *said;

    prepare(s, "{\"backend\": \"tcp\"}");
    said = hear_json(s, AGENT_READY);
    assert_int_equal(
        strncmp(json_string_value(json_object_get(said, "coordinator")), "127.0.0.1:", 10), 0);
    json_decref(said);
    assert_string_equal(s->agent.run.place.shim, "/opt/mlaunch/libmlaunch.so.0");
    assert_string_equal(s->agent.run.place.modules, "/opt/mlaunch/x");
}

static void test_port_taken(void **state)
{
    struct scene *s = *state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char with[64];

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(with, sizeof(with), "{\"backend\": \"tcp\", \"port\": %d}", ntohs(at.sin_port));
    prepare(s, with);
    close(fd);
    expect_refused(s, "Address already in use");
}

/* --- a job that is refused -------------------------------------------------------------------- */

static void test_malformed(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "{}", "{\"job\": 1}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct scene s;

        scene_make(&s);
        job_prepare(&s.agent, texts[i], strlen(texts[i]));
        expect_refused(&s, "");
        scene_free(&s);
    }
    prepare(*state, "{\"host_of\": [0]}");
    expect_refused(*state, "\"host_of\"");
}

static void test_descriptors(void **state)
{
    struct scene *s = *state;
    struct rlimit limit, few;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){70, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    prepare(s, "{}");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_refused(s, "2 ranks need 72 open files, but the limit is 70: raise it");
}

/* The agent has a connection to each of its ranks, and to each other agent. */
static void test_descriptors_of_coordinator(void **state)
{
    struct scene *s = *state;
    struct rlimit limit, few;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){73, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    prepare(s, "{\"backend\": \"tcp\"}");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_refused(s, "2 ranks need 74 open files");
}

static void test_address(void **state)
{
    struct scene *s = *state;

    prepare(s, "{\"bind_ip\": \"192.0.2.1\"}");
    expect_refused(s,
                   "\"ips\" in the hostfile: 192.0.2.1 is not one of this host's addresses (it ");
}

static void test_no_directory(void **state)
{
    struct scene *s = *state;

    prepare(s, "{\"host_cwd\": \"/nonexistent\"}");
    expect_refused(s, "/nonexistent");
}

static void test_not_installed(void **state)
{
    struct scene *s = *state, other;

    installed = NULL;
    job_place_find_ahead(&s->agent);
    prepare(s, "{\"backend\": \"tcp\"}");
    expect_refused(s, " is missing");
    scene_make(&other);
    installed = "/opt/my programs";
    job_place_find_ahead(&other.agent);
    prepare(&other, "{\"backend\": \"tcp\"}");
    expect_refused(&other, "/opt/my programs/libmlaunch.so.0 cannot be preloaded: the loader ");
    scene_free(&other);
}

/* Two jobs of one user may not have the same name. */
static void test_name_taken(void **state)
{
    struct scene *s = *state, other;
    char with[128];

    snprintf(with, sizeof(with), "{\"name\": \"n%s\"}", job_name);
    prepare(s, with);
    expect_ready(s, 0, NULL);
    scene_make(&other);
    snprintf(with, sizeof(with), "{\"name\": \"n%s\", \"job\": \"%sx\"}", job_name, job_name);
    prepare(&other, with);
    {
        json_t *said = hear_json(&other, AGENT_REFUSED);

        assert_non_null(strstr(json_string_value(json_object_get(said, "text")), job_name));
        json_decref(said);
    }
    assert_int_equal(directories_left(), 1);
    scene_free(&other);
}

/* --- files ------------------------------------------------------------------------------------ */

static const char contents[] = "#!/bin/true\nmore";
enum { SIZE = sizeof(contents) - 1 };

static void prepare_file(struct scene *s)
{
    unsigned char hash[32];
    char hex[2 * sizeof(hash) + 1], with[512];

    crypto_generichash(hash, sizeof(hash), (const unsigned char *)contents, SIZE, NULL, 0);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    snprintf(with, sizeof(with),
             "{\"files\": [{\"name\": \"prog\", \"size\": %d, \"hash\": \"%s\", \"executable\": "
             "true}], \"apps\": [{\"argv\": [\"prog\"], \"env\": [], \"cwd\": \"\", \"file\": 0}]}",
             SIZE, hex);
    prepare(s, with);
    {
        json_t *said = hear_json(s, AGENT_WANT);

        assert_int_equal(json_array_size(json_object_get(said, "files")), 1);
        json_decref(said);
    }
    assert_int_equal(s->agent.run.state, AGENT_IS_RECEIVING);
}

static void expect_credit(struct scene *s, uint32_t size)
{
    struct frame f = hear(s);
    uint32_t taken = htonl(size);

    assert_int_equal(f.type, AGENT_FILE_CREDIT);
    assert_int_equal(f.size, sizeof(taken));
    assert_memory_equal(f.payload, &taken, sizeof(taken));
}

static void test_file(void **state)
{
    struct scene *s = *state;

    prepare_file(s);
    job_prepare_file(&s->agent, 0, contents, 5);
    expect_credit(s, 5);
    assert_int_equal(hear(s).type, 0);
    job_prepare_file(&s->agent, 0, contents + 5, SIZE - 5);
    expect_credit(s, SIZE - 5);
    expect_ready(s, 0, NULL);
    assert_int_equal(access(received_files_path(s->agent.run.place.files, 0), X_OK), 0);
}

/* The launcher sends more before it reads that the job is refused: the agent ignores it, since it
 * is DONE. */
static void test_file_refused(void **state)
{
    static const struct {
        uint32_t index;
        const char *bytes;
        size_t size;
    } cases[] = {
        {1, contents, SIZE},           /* a file that there is not */
        {UINT32_MAX, contents, 1},     /* nor this one */
        {0, contents, SIZE + 1},       /* more than was announced */
        {0, "#!/bin/trueXmore", SIZE}, /* something else */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct scene s;

        scene_make(&s);
        prepare_file(&s);
        job_prepare_file(&s.agent, cases[i].index, cases[i].bytes, cases[i].size);
        expect_refused(&s, "");
        assert_int_equal(s.agent.run.state, AGENT_IS_DONE);
        scene_free(&s);
    }
    prepare_file(*state);
    job_prepare_file(&((struct scene *)*state)->agent, 0, contents, 3);
    expect_credit(*state, 3);
    job_prepare_file(&((struct scene *)*state)->agent, 1, contents, 3); /* in the middle of it */
    expect_refused(*state, "");
}

/* Once the job is to end, no file makes it READY. */
static void test_file_after_stop(void **state)
{
    struct scene *s = *state;

    prepare_file(s);
    s->agent.run.stop.is_active = true;
    job_prepare_file(&s->agent, 0, contents, SIZE);
    assert_int_equal(hear(s).type, 0);
    assert_int_equal(s->agent.run.state, AGENT_IS_RECEIVING);
}

/* The launcher goes away in the middle of a file; the agent's end then removes all. */
static void test_launcher_gone(void **state)
{
    struct scene *s = *state;

    prepare_file(s);
    job_prepare_file(&s->agent, 0, contents, 5);
    shutdown(s->fd, SHUT_RDWR);
    while (!s->ended[0])
        event_base_loop(s->agent.base, EVLOOP_ONCE);
    job_prepare_file(&s->agent, 0, contents + 5, SIZE - 5);
    job_release(s);
    assert_int_equal(directories_left(), 0);
}

/* --- the prolog ------------------------------------------------------------------------------- */

/* Waits for its end, as the worker does. */
static void prolog_finish(struct scene *s)
{
    int status;
    pid_t pid;

    assert_non_null(s->agent.run.hook);
    assert_int_equal(s->agent.run.state, AGENT_IS_PREPARING);
    assert_int_equal(hear(s).type, 0);
    pid = waitpid(-1, &status, 0);
    assert_true(pid > 0);
    assert_true(hook_reaped(s->agent.run.hook, pid, status));
    while (s->agent.run.hook)
        event_base_loop(s->agent.base, EVLOOP_ONCE);
}

static void test_prolog(void **state)
{
    struct scene *s = *state;
    json_t *said;

    prepare(s, "{\"prolog\": \"echo here; test -d \\\"$MLAUNCH_JOB_DIR\\\" || true\"}");
    prolog_finish(s);
    said = hear_json(s, AGENT_NOTE);
    assert_string_equal(json_string_value(json_object_get(said, "text")), "here");
    json_decref(said);
    expect_ready(s, 0, NULL);
}

static void test_prolog_fails(void **state)
{
    struct scene *s = *state;

    prepare(s, "{\"prolog\": \"echo no disk; exit 3\"}");
    prolog_finish(s);
    expect_refused(s, "no disk");
    assert_int_equal(s->agent.run.state, AGENT_IS_DONE);
}

/* A job that ends meanwhile does not become READY. */
static void test_prolog_and_stop(void **state)
{
    struct scene *s = *state;

    prepare(s, "{\"prolog\": \"exit 3\"}");
    s->agent.run.stop.is_active = true;
    prolog_finish(s);
    assert_int_equal(hear(s).type, 0);
    assert_int_equal(s->agent.run.state, AGENT_IS_PREPARING);
}

static int setup(void **state)
{
    (void)state;
    snprintf(job_name, sizeof(job_name), "unit%d", (int)getpid());
    signal(SIGPIPE, SIG_IGN); /* as in the agent */
    return sodium_init() < 0;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ready),
        TEST(test_directory),
        TEST(test_coordinator),
        TEST(test_port_taken),
        TEST(test_malformed),
        TEST(test_descriptors),
        TEST(test_descriptors_of_coordinator),
        TEST(test_address),
        TEST(test_no_directory),
        TEST(test_not_installed),
        TEST(test_name_taken),
        TEST(test_file),
        TEST(test_file_refused),
        TEST(test_file_after_stop),
        TEST(test_launcher_gone),
        TEST(test_prolog),
        TEST(test_prolog_fails),
        TEST(test_prolog_and_stop),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
