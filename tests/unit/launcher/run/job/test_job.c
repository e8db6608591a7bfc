/* SPDX-License-Identifier: MIT */
/*
 * test_job.c: a whole job, from its first round to mlaunch's exit status, whose agents are a script
 * (script_channel.h): good ends, ranks and hosts that fail, restarts, spare hosts, signals, and
 * agents that talk nonsense. Each job runs in a process of its own, since it takes over the
 * process's signals. The hosts a, b and c have one rank each.
 */
#include "launcher/run/job/job.h"

#include "common/status.h"
#include "launcher/base/process/install_path.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "tests/fuzz/launcher/script_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS = 32, TEXT = 8192 };

#define HELLO                                                                                      \
    "16{\"build\":\"@\",\"arch\":\"x86_64\",\"pid\":7,\"address\":\"10.0.0.2\",\"guess\":\"\"}\n"
#define READY           "17{\"coordinator\":\"\",\"warnings\":[]}\n"
#define STARTED(RANK)   "19{\"rank\":" #RANK ",\"pid\":4711}\n"
#define EXITED(RANK, S) "21{\"rank\":" #RANK ",\"pid\":4711,\"status\":" #S "}\n"
#define KILLED(RANK, S)                                                                            \
    "21{\"rank\":" #RANK ",\"pid\":4711,\"signal\":" #S ",\"ended_by_us\":true}\n"
#define ASKED "34{\"text\":\"asked to stop by its user\"}\n"
#define DONE  "26{\"survivors\":[]}\n"

#define BEGIN  "0" HELLO "1" HELLO "0" READY "1" READY "0" STARTED(0) "1" STARTED(1)
#define BOTH   "-H a,b --backend none prog"
#define GO     "a JOB; b JOB; a START; b START; "
#define BYE    "a BYE; b BYE; "
#define FINISH "0" DONE "1" DONE "x0closed\nx1closed\n"

/* What the child was sent, and the signal that it gets with one of these. */
static char seen[TEXT];
static struct {
    int type, host, signal;
} raise_with[2];

static bool is_installed = true;

int __wrap_install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why);

int __wrap_install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why)
{
    if (!is_installed)
        return fault_set(why, ML_ERR_SYSTEM, "part %d is missing", (int)part);
    snprintf(out, PATH_MAX, "/opt/mlaunch/agent");
    return 0;
}

static const char *name_of(int type)
{
    switch (type) {
    case LAUNCH_JOB:
        return "JOB";
    case LAUNCH_START:
        return "START";
    case LAUNCH_STOP:
        return "STOP";
    case LAUNCH_ASK:
        return "ASK";
    case LAUNCH_KILL:
        return "KILL";
    case LAUNCH_BYE:
        return "BYE";
    case LAUNCH_AGAIN:
        return "AGAIN";
    case LAUNCH_QUERY:
        return "QUERY";
    default:
        return "OTHER";
    }
}

static void on_send(int host, int type, const uint8_t *payload, size_t size)
{
    size_t used = strlen(seen);

    (void)payload, (void)size;
    if (type == LAUNCH_STDIN || type == LAUNCH_SHARED)
        return;
    snprintf(seen + used, sizeof(seen) - used, "%c %s; ", 'a' + host, name_of(type));
    for (size_t i = 0; i < sizeof(raise_with) / sizeof(*raise_with); i++)
        if (raise_with[i].type == type && raise_with[i].host == host)
            raise(raise_with[i].signal);
}

/* Runs the job to its end. Returns the exit status. */
static int child_run(const char *line, const char *script)
{
    char copy[1024], *argv[WORDS], *rest = copy, *environment[] = {NULL};
    struct options_source from = {1, argv, environment, NULL, NULL};
    struct options *o = NULL;
    struct plan *p = NULL;
    struct fault why;
    int status;

    snprintf(copy, sizeof(copy), "%s", line);
    argv[0] = (char *)"mlaunch";
    while (from.argc < WORDS && (argv[from.argc] = strsep(&rest, " ")))
        from.argc++;
    if (options_load_from(&o, &from, &why) || plan_create(&p, o, environment, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return -1;
    }
    script_channel_watch(on_send);
    script_channel_begin((const uint8_t *)script, strlen(script));
    status = job_run(p, "1ngk8fs-q4z7cd", NULL);
    plan_destroy(p);
    options_destroy(o);
    fprintf(stderr, "%s\n", seen);
    return status;
}

static char said[TEXT]; /* what the last job has printed, and behind it what was sent */

/* The job ends with that status, and each of the texts, which end with NULL, is in what it says. */
static void expect(const char *line, const char *script, int status, ...)
{
    int file = memfd_create("said", MFD_CLOEXEC), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const char *text;
    va_list texts;
    int code;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(null, STDIN_FILENO);
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
        code = child_run(line, script);
        fflush(NULL);
        _exit(code);
    }
    while (waitpid(child, &code, 0) < 0)
        assert_int_equal(errno, EINTR);
    memset(said, 0, sizeof(said));
    assert_true(pread(file, said, sizeof(said) - 1, 0) >= 0);
    close(file);
    close(null);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != status)
        fail_msg("status 0x%x instead of %d:\n%s", code, status, said);
    va_start(texts, status);
    while ((text = va_arg(texts, const char *)))
        if (!strstr(said, text))
            fail_msg("no '%s' in:\n%s", text, said);
    va_end(texts);
}

static int fresh(void **state)
{
    (void)state;
    memset(raise_with, 0, sizeof(raise_with));
    return 0;
}

static void raise_at(int i, int type, int host, int number)
{
    raise_with[i].type = type;
    raise_with[i].host = host;
    raise_with[i].signal = number;
}

/* --- ends of one round ------------------------------------------------------------------------ */

static void test_good(void **state)
{
    (void)state;
    expect(BOTH, BEGIN "1" EXITED(1, 0) "0" EXITED(0, 0) FINISH, 0, GO BYE, NULL);
    assert_int_equal(strncmp(said, GO, strlen(GO)), 0); /* nothing is to be said */
}

/* The first rank that fails gives the status, and ends the others. */
static void test_rank_fails(void **state)
{
    (void)state;
    expect(BOTH, BEGIN "1" EXITED(1, 3) "w\n0" KILLED(0, 15) FINISH, 3, "rank 1", "host b",
           GO "a STOP; b STOP; " BYE, NULL);
    expect(BOTH, BEGIN "121{\"rank\":1,\"pid\":1,\"signal\":11}\nw\n0" KILLED(0, 15) FINISH,
           STATUS_SIGNAL + SIGSEGV, "rank 1", NULL);
}

/* Before the ranks run, a host's refusal is the end of the job, with its status. */
static void test_refused(void **state)
{
    (void)state;
    expect(BOTH,
           "0" HELLO "1" HELLO "0" READY "118{\"text\":\"no room\",\"status\":125}\nx1closed\n"
           "x0closed\n",
           STATUS_OURS, "host b: no room", "a JOB; b JOB; ", NULL);
    assert_null(strstr(said, "START"));
    expect(BOTH, "0" HELLO "x1no route to host\nx0closed\n", STATUS_OURS,
           "host b: no route to host", NULL);
}

/* A host that is lost takes its rank along; the others end. */
static void test_host_lost(void **state)
{
    (void)state;
    expect(BOTH, BEGIN "x1its agent is gone\nw\n0" KILLED(0, 15) "0" DONE "x0closed\n", STATUS_OURS,
           "host b was lost: its agent is gone", "a STOP; ", NULL);
    expect(BOTH, BEGIN "x0gone\nx1gone too\n", STATUS_OURS, "host a", "gone", NULL);
}

/* An agent that breaks the protocol is given up as if its host were lost. */
static void test_nonsense(void **state)
{
    static const char *const frames[] = {
        "119{\"rank\":7,\"pid\":1}\n", /* a rank that there is not */
        "119{\"rank\":0,\"pid\":1}\n", /* another host's */
        "119[]\n",
        "119\n",
        "120\n",             /* OUTPUT without a rank */
        "121{\"rank\":1}\n", /* EXITED without a status */
        "199\n",
        "116{}\n", /* HELLO again */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
        char script[1024];

        snprintf(script, sizeof(script), "%s%sw\n0%s0%sx0closed\n", BEGIN, frames[i], KILLED(0, 15),
                 DONE);
        expect(BOTH, script, STATUS_OURS, "host b was lost: its agent ", NULL);
    }
}

static void test_not_installed(void **state)
{
    (void)state;
    is_installed = false;
    expect(BOTH, BEGIN, STATUS_OURS, "error: part 0 is missing", NULL);
    is_installed = true;
    expect("-H a,b --backend none --events /nonexistent/e prog", BEGIN, STATUS_OURS,
           "/nonexistent/e", NULL);
    assert_null(strstr(said, "JOB"));
}

/* --- several rounds --------------------------------------------------------------------------- */

#define FAILS BEGIN "1" EXITED(1, 3) "w\n0" KILLED(0, 15) "0" DONE "1" DONE "w\n"
#define AGAIN "a AGAIN; b AGAIN; "

static void test_restarts(void **state)
{
    static const char line[] = "-H a,b --backend none --restarts 1 prog";

    (void)state;
    expect(line, FAILS BEGIN "1" EXITED(1, 0) "0" EXITED(0, 0) FINISH, 0,
           "starting the job again (restart 1 of 1)", GO "a STOP; b STOP; " AGAIN GO BYE, NULL);
    /* There is one restart; the last round gives the status. */
    expect(line,
           FAILS BEGIN "1" EXITED(1, 4) "w\n0" KILLED(0, 15) "0" DONE "1" DONE "w\n"
                                                             "x0closed\nx1closed\n",
           4, AGAIN GO "a STOP; b STOP; " BYE, NULL);
    /* An agent that ends between the runs, or where processes are left, is started anew. */
    expect(line,
           BEGIN "1" EXITED(1, 3) "w\n0" KILLED(
               0, 15) "0" DONE "126{\"survivors\":[{\"pid\":9,\"text\":\"cp\"}]}\nx1closed\n"
                      "w1\n" BEGIN "1" EXITED(1, 0) "0" EXITED(0, 0) FINISH,
           0, "process 9 could not be ended", "b BYE; a AGAIN; a JOB; b JOB; ", NULL);
    /* A host that was not reached may be there the next time; a missing program stays so. */
    expect(line,
           "0" HELLO "x1no route\nx0closed\nw0\nw1\n" BEGIN "1" EXITED(1, 0) "0" EXITED(0, 0)
               FINISH,
           0, "host b: no route", "starting the job again in 1 s (restart 1 of 1)", NULL);
    expect(line,
           BEGIN "121{\"rank\":1,\"status\":127,\"error\":\"no such program\"}\nw\n0" KILLED(0, 15)
               FINISH,
           STATUS_NOT_FOUND, "no such program", NULL);
    assert_null(strstr(said, "again"));
}

/* Host b has run ranks, and can't be reached again: c takes its place. */
static void test_spare(void **state)
{
    static const char line[] = "-H a,b --backend none --restarts 1 --spare-hosts c prog";

    (void)state;
    expect(line,
           BEGIN "x1gone\nw\n0" KILLED(0, 15) "0" DONE "x0closed\nw0\nw1\n0" HELLO
                                              "x1no route\nx0closed\nw0\nw1\n" BEGIN
                                              "1" EXITED(1, 0) "0" EXITED(0, 0) FINISH,
           0, "host b was lost; spare host c takes its place (rank 1)", NULL);
    expect(line,
           BEGIN "x1gone\nw\n0" KILLED(0, 15) "0" DONE "x0closed\nw0\nw1\n0" HELLO
                                              "x1no route\nx0closed\nw0\nw1\n0" HELLO
                                              "x1nor there\nx0closed\n",
           STATUS_OURS, "spare host c takes its place", "host c: nor there", NULL);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void test_signal(void **state)
{
    (void)state;
    raise_at(0, LAUNCH_START, 1, SIGTERM);
    expect(BOTH, BEGIN "w\n0" KILLED(0, 15) "1" KILLED(1, 15) FINISH, STATUS_SIGNAL + SIGTERM,
           "ended by SIGTERM (from pid ", GO "a STOP; b STOP; ", NULL);
}

/* The second one kills; the first one gives the status. */
static void test_second_signal(void **state)
{
    (void)state;
    raise_at(0, LAUNCH_START, 1, SIGTERM);
    raise_at(1, LAUNCH_STOP, 1, SIGINT);
    expect(BOTH, BEGIN "w\n0" KILLED(0, 9) "1" KILLED(1, 9) FINISH, STATUS_SIGNAL + SIGTERM,
           "a STOP; b STOP; a KILL; b KILL; ", NULL);
}

/* No restart follows a signal, whatever else fails. */
static void test_signal_and_restarts(void **state)
{
    (void)state;
    raise_at(0, LAUNCH_STOP, 1, SIGTERM);
    expect("-H a,b --backend none --restarts 3 prog",
           BEGIN "1" EXITED(1, 3) "w\n0" KILLED(0, 15) FINISH, 3, NULL);
    assert_null(strstr(said, "again"));
}

/* One agent has been asked to stop the job softly: all are told, and no rank is ended. */
static void test_asked_by_agent(void **state)
{
    (void)state;
    expect(BOTH, BEGIN "1" ASKED "0" ASKED "0" EXITED(0, 0) "1" EXITED(1, 0) FINISH, 0,
           "mlaunch: asked to stop by its user\n", GO "a ASK; b ASK; " BYE, "has stopped by itself",
           NULL);
    /* Such a job is not started again. */
    expect("-H a,b --backend none --restarts 3 prog",
           BEGIN "1" ASKED "1" EXITED(1, 3) "w\n0" KILLED(0, 15) FINISH, 3, "exited with status 3",
           NULL);
    assert_null(strstr(said, "again"));
    assert_null(strstr(said, "by itself"));
    expect(BOTH,
           BEGIN "1"
                 "34{\"text\":1}\n"
                 "w\n0" KILLED(0, 15) "0" DONE "x0closed\n",
           STATUS_OURS, "a malformed ASKED", NULL);
}

/* Who asks before the ranks have started is heard, if the signal would not have ended the job. */
static void test_asked_early(void **state)
{
    (void)state;
    raise_at(0, LAUNCH_JOB, 1, SIGUSR1);
    expect("-H a,b --backend none --stop-signal USR1 prog",
           BEGIN "0" EXITED(0, 0) "1" EXITED(1, 0) FINISH, 0, "asked to stop by SIGUSR1",
           "a START; b START; a ASK; b ASK; ", NULL);
    raise_at(0, LAUNCH_JOB, 1, SIGTERM);
    expect("-H a,b --backend none --stop-signal TERM prog", "0" HELLO "1" HELLO "x0\nx1\n",
           STATUS_SIGNAL + SIGTERM, "ended by SIGTERM", NULL);
}

#define TEST(NAME) cmocka_unit_test_setup(NAME, fresh)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_good),
        TEST(test_rank_fails),
        TEST(test_refused),
        TEST(test_host_lost),
        TEST(test_nonsense),
        TEST(test_not_installed),
        TEST(test_restarts),
        TEST(test_spare),
        TEST(test_signal),
        TEST(test_second_signal),
        TEST(test_signal_and_restarts),
        TEST(test_asked_by_agent),
        TEST(test_asked_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
