/* SPDX-License-Identifier: MIT */
/* test_command_channel.c: agents started by commands: their bytes, their ends, and closing. */
#include "launcher/wire/channel/command_channel.h"

#include "launcher/wire/channel/channel.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000 };

/* A frame's header, by which the channel knows that an agent answers; the script takes four NULs
 * for it. */
#define FIRST_BYTES "printf '\\0\\0\\0\\0'; "

/* One channel and what its thread has reported. */
struct fixture {
    struct host host;
    struct channel_config config;
    char *words[4];
    struct channel *channel;
    int ready[2]; /* a pipe that on_ready writes to */
    struct fault opened;
};

static void on_ready(struct channel *c, const struct fault *why, void *arg)
{
    struct fixture *f = arg;

    (void)c;
    f->opened = *why;
    (void)!write(f->ready[1], "", 1);
}

/* Opens a channel to `sh -c SCRIPT`. */
static int fixture_open(struct fixture *f, const char *program, const char *script,
                        struct fault *why)
{
    *f = (struct fixture){.host = {.name = (char *)"h", .launch_method = LAUNCH_METHOD_COMMAND},
                          .words = {(char *)program, (char *)"-c", (char *)script, NULL}};
    f->config = (struct channel_config){
        .connect_timeout_ms = 10000, .agent = "/the/agent", .build = "b1", .command = f->words};
    assert_int_equal(pipe(f->ready), 0);
    return command_channel_open(&f->channel, &f->host, &f->config, on_ready, f, why);
}

static void ready_await(struct fixture *f)
{
    struct pollfd p = {.fd = f->ready[0], .events = POLLIN};
    char byte;

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    assert_int_equal(read(f->ready[0], &byte, 1), 1);
}

static void fixture_close(struct fixture *f)
{
    channel_close(f->channel);
    close(f->ready[0]);
    close(f->ready[1]);
}

/* Reads exactly `size` bytes; with size 0 waits for end of file. */
static void bytes_read(struct fixture *f, char *out, size_t size)
{
    struct pollfd p = {.fd = channel_fd(f->channel), .events = POLLIN};

    for (size_t used = 0; used < size || size == 0;) {
        ssize_t n;

        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        n = recv(p.fd, out + used, size ? size - used : 1, 0);
        assert_true(n >= 0);
        if (size == 0) {
            assert_int_equal(n, 0);
            return;
        }
        assert_true(n > 0);
        used += (size_t)n;
    }
}

static void open_ready(struct fixture *f, const char *script)
{
    char first[4];

    if (fixture_open(f, "sh", script, &f->opened))
        fail_msg("%s", f->opened.text);
    ready_await(f);
    if (f->opened.code)
        fail_msg("%s", f->opened.text);
    bytes_read(f, first, sizeof(first)); /* which the channel has only looked at */
    assert_memory_equal(first, "\0\0\0\0", 4);
}

/* Opens a channel that fails with this sentence. */
static void expect_failure(const char *script, int code, const char *words)
{
    struct fixture f;
    struct fault why = {0};

    assert_int_equal(fixture_open(&f, "sh", script, &why), 0);
    ready_await(&f);
    assert_int_equal(f.opened.code, code);
    if (!strstr(f.opened.text, words))
        fail_msg("\"%s\" is not in: %s", words, f.opened.text);
    fixture_close(&f);
}

static void test_echo(void **state)
{
    struct fixture f;
    char back[5];

    (void)state;
    open_ready(&f, FIRST_BYTES "exec cat");
    assert_int_equal(send(channel_fd(f.channel), "hello", 5, MSG_NOSIGNAL), 5);
    bytes_read(&f, back, sizeof(back));
    assert_memory_equal(back, "hello", 5);
    fixture_close(&f);
}

/* The command's words are followed by the agent's path and arguments. */
static void test_arguments(void **state)
{
    static const char want[] = "/the/agent --build b1\n";
    struct fixture f;
    char said[sizeof(want) - 1];

    (void)state;
    open_ready(&f, FIRST_BYTES "echo $0 $*; exec cat");
    bytes_read(&f, said, sizeof(said));
    assert_memory_equal(said, want, sizeof(said));
    fixture_close(&f);
}

static void test_early_exit(void **state)
{
    (void)state;
    expect_failure("echo no route to h >&2; exit 3", ML_ERR_REFUSED,
                   "sh ended with status 3 and started no agent; it said: no route to h; it needs "
                   "/the/agent of this build there");
    expect_failure("exit 94", ML_ERR_REFUSED,
                   "/the/agent, as sh starts it there, is another build than this mlaunch (b1)");
    expect_failure("kill -KILL $$", ML_ERR_REFUSED, "sh was killed by SIGKILL");
    expect_failure("kill -35 $$", ML_ERR_REFUSED, "sh was killed by signal 35"); /* has no name */
    expect_failure("echo Welcome; exec cat", ML_ERR_REFUSED,
                   "writes to its standard output, where only the agent may: 'Welcome'");
}

static void test_no_such_program(void **state)
{
    struct fixture f;
    struct fault why = {0};

    (void)state;
    assert_int_equal(fixture_open(&f, "/no/such/program", "x", &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "there is no program /no/such/program here");
    assert_null(f.channel);
    fixture_close(&f);
    assert_int_equal(fixture_open(&f, "/proc/version", "x", &why), ML_ERR_REFUSED);
    assert_null(f.channel);
    fixture_close(&f);
}

/* A late end: what was written before the agent spoke does not explain it. */
static void test_exit_reason(void **state)
{
    struct fixture f;
    char text[512];

    (void)state;
    open_ready(&f, "echo early >&2; " FIRST_BYTES "read go; echo out of memory >&2; exit 5");
    assert_int_equal(send(channel_fd(f.channel), "go\n", 3, MSG_NOSIGNAL), 3);
    bytes_read(&f, text, 0);
    channel_exit_reason(f.channel, text, sizeof(text));
    assert_string_equal(text, "sh, which had started its agent, ended with status 5; end of its "
                              "standard error: out of memory");
    fixture_close(&f);
}

static bool process_lives(pid_t pid)
{
    char path[64], state = 'Z';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    if (fscanf(f, "%*d %*s %c", &state) != 1)
        state = 'Z';
    fclose(f);
    return state != 'Z' && state != 'X';
}

/* Neither the command nor its child, both deaf to SIGTERM and to end of file, outlive the close. */
static void test_close_ends_the_group(void **state)
{
    struct timespec pass = {.tv_nsec = 10000000};
    struct fixture f;
    char text[32] = "";
    int parent, child;

    (void)state;
    open_ready(&f, "trap '' TERM; " FIRST_BYTES "sleep 1000 & printf '%15d %15d' $$ $!; wait");
    bytes_read(&f, text, 31);
    assert_int_equal(sscanf(text, "%d %d", &parent, &child), 2);
    assert_true(process_lives(parent) && process_lives(child));
    fixture_close(&f);
    assert_int_equal(kill(parent, 0), -1); /* reaped */
    for (int i = 0; i < PATIENCE_MS / 10 && process_lives(child); i++)
        nanosleep(&pass, NULL);
    assert_false(process_lives(child));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo),        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_early_exit),  cmocka_unit_test(test_no_such_program),
        cmocka_unit_test(test_exit_reason), cmocka_unit_test(test_close_ends_the_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
