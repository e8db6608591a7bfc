/* SPDX-License-Identifier: MIT */
/* test_change_requests.c: what `mlaunch shrink` and `grow` ask over the job's socket, well-formed
 * and not, and when they are answered. */
#include "launcher/base/machine/job_register.h"
#include "launcher/base/machine/job_socket.h"
#include "launcher/run/change/change_requests.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct job {
    struct event_base *base;
    struct change_requests *requests;
    struct register_found found;
    char asked[64];           /* what came last: "shrink 2", "grow c:2" */
    bool is_refused, is_done; /* the job's answers */
    bool have_ended;
    int first;
};

static int on_shrink(const struct rank_set *ranks, const char *by, void *arg, struct fault *why)
{
    struct job *j = arg;

    assert_non_null(strstr(by, " on host "));
    snprintf(j->asked, sizeof(j->asked), "shrink %s", rank_set_has(ranks, 2) ? "2" : "?");
    return j->is_refused ? fault_set(why, ML_ERR_STATE, "not now") : 0;
}

static bool has_shrunk(const struct rank_set *ranks, void *arg)
{
    (void)ranks;
    return ((struct job *)arg)->is_done;
}

static int on_grow(const char *hosts, const char *by, int *first, int *count, void *arg,
                   struct fault *why)
{
    struct job *j = arg;

    (void)by;
    snprintf(j->asked, sizeof(j->asked), "grow %s", hosts);
    *first = j->first;
    *count = 2;
    return j->is_refused ? fault_set(why, ML_ERR_STATE, "not now") : 0;
}

static bool has_grown(int first, int count, bool *have_ended, void *arg)
{
    struct job *j = arg;

    assert_true(first >= 0);
    assert_int_equal(count, 2);
    *have_ended = j->have_ended;
    return j->is_done;
}

static void job_open(struct job *j)
{
    const struct change_handlers handlers = {on_shrink, has_shrunk, on_grow, has_grown, j};
    struct fault why;

    *j = (struct job){.base = event_base_new(), .first = 4};
    job_register_describe(&j->found.entry);
    snprintf(j->found.entry.file.job, sizeof(j->found.entry.file.job), "test-%d", (int)getpid());
    if (change_requests_open(&j->requests, j->base, j->found.entry.file.job, &handlers, &why))
        fail_msg("%s", why.text);
}

static void job_close(struct job *j)
{
    change_requests_close(j->requests);
    event_base_free(j->base);
}

static int ask(struct job *j, const char *text, size_t size)
{
    struct fault why;
    int fd = -1;

    if (job_socket_connect(&fd, &j->found, &why))
        fail_msg("%s", why.text);
    assert_int_equal(send(fd, text, size, MSG_NOSIGNAL), size);
    return fd;
}

/* All that is answered up to now, but for the signs of life. */
static const char *answers(struct job *j, int fd)
{
    static char text[4096];
    size_t at = 0;
    ssize_t n;

    for (int turn = 0; turn < 20; turn++) {
        event_base_loop(j->base, EVLOOP_NONBLOCK);
        n = recv(fd, text + at, sizeof(text) - 1 - at, MSG_DONTWAIT);
        at += n > 0 ? (size_t)n : 0;
    }
    text[at] = '\0';
    for (char *sign; (sign = strstr(text, "{}\n"));)
        memmove(sign, sign + 3, strlen(sign + 3) + 1);
    return text;
}

static void expect(struct job *j, int fd, const char *word)
{
    const char *got = answers(j, fd);

    if (word[0] ? !strstr(got, word) : got[0])
        fail_msg("\"%s\", not \"%s\"", got, word);
}

static void expect_end(struct job *j, int fd, const char *word)
{
    char byte;

    expect(j, fd, word);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
}

#define ASK(j, text) ask(j, text "\n", sizeof(text))

static void test_shrink(void **state)
{
    struct job j;
    int fd;

    (void)state;
    job_open(&j);
    fd = ASK(&j, "{\"what\": \"shrink\", \"ranks\": \"2\"}");
    expect(&j, fd, "the ranks leave");
    assert_string_equal(j.asked, "shrink 2");
    j.is_done = true;
    change_requests_look(j.requests);
    expect_end(&j, fd, "{\"status\":0,\"text\":\"the ranks have left\"}");
    j.is_refused = true;
    expect_end(&j, ASK(&j, "{\"what\": \"shrink\", \"ranks\": \"2\"}"),
               "{\"status\":1,\"text\":\"not now\"}");
    job_close(&j);
}

static void test_grow(void **state)
{
    struct job j;
    int fd, other;

    (void)state;
    job_open(&j);
    fd = ASK(&j, "{\"what\": \"grow\", \"hosts\": \"c:2\"}");
    expect(&j, fd, "");
    assert_string_equal(j.asked, "grow c:2");
    j.is_done = true;
    change_requests_look(j.requests);
    expect_end(&j, fd, "\"status\":0,\"text\":\"ranks 4-5 run, and become members");
    j.have_ended = true;
    expect_end(&j, ASK(&j, "{\"what\": \"grow\", \"hosts\": \"c:2\"}"),
               "\"status\":1,\"text\":\"of ranks 4-5 one has ended already; mlaunch says why\"");
    j.have_ended = false;
    j.first = -1; /* hosts are being reached */
    fd = ASK(&j, "{\"what\": \"grow\", \"hosts\": \"c:2\"}");
    expect(&j, fd, "");
    change_requests_look(j.requests);
    expect(&j, fd, "");
    change_requests_came(j.requests, 6, NULL);
    change_requests_look(j.requests);
    expect_end(&j, fd, "ranks 6-7 run");
    fd = ASK(&j, "{\"what\": \"grow\", \"hosts\": \"c:2\"}");
    expect(&j, fd, "");
    j.first = 8;
    j.is_done = false;
    other = ASK(&j, "{\"what\": \"grow\", \"hosts\": \"a:2\"}");
    expect(&j, other, "");
    change_requests_came(j.requests, -1, "host c did not come: why");
    expect_end(&j, fd, "{\"status\":1,\"text\":\"host c did not come: why\"}");
    expect(&j, other, ""); /* it does not wait for hosts */
    close(other);
    expect_end(&j, ASK(&j, "{\"what\": \"grow\", \"hosts\": 1}"), "malformed");
    job_close(&j);
}

static void test_malformed(void **state)
{
    static const char *const lines[] = {
        "\n",
        "no json\n",
        "{}\n",
        "[]\n",
        "null\n",
        "{\"what\": \"stop\"}\n",
        "{\"what\": \"shrink\"}\n",
        "{\"what\": \"shrink\", \"ranks\": [2]}\n",
        "{\"what\": \"grow\"}\n",
    };
    static char longest[8192];
    struct job j;

    (void)state;
    job_open(&j);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        expect_end(&j, ask(&j, lines[i], strlen(lines[i])), "the request is malformed");
    expect_end(&j, ASK(&j, "{\"what\": \"shrink\", \"ranks\": \"x\"}"), "\"status\":1");
    memset(longest, ' ', sizeof(longest));
    expect_end(&j, ask(&j, longest, sizeof(longest)), "the request is too long");
    assert_string_equal(j.asked, ""); /* nothing was */
    job_close(&j);
}

/* Whoever waits hears that mlaunch lives; whoever has gone before that has asked for nothing. */
static void test_silence(void **state)
{
    struct job j;
    char text[64];
    int fd;

    (void)state;
    job_open(&j);
    close(ASK(&j, "{\"what\": \"shrink\", \"ranks\": \"2\"}")); /* while mlaunch was stopped */
    fd = ASK(&j, "{\"what\": \"grow\", \"hosts\": \"c:2\"}");
    while (recv(fd, text, 3, MSG_DONTWAIT) != 3)
        event_base_loop(j.base, EVLOOP_ONCE);
    assert_string_equal(j.asked, "grow c:2");
    assert_memory_equal(text, "{}\n", 3);
    while (recv(fd, text, 3, MSG_DONTWAIT) != 3)
        event_base_loop(j.base, EVLOOP_ONCE);
    assert_memory_equal(text, "{}\n", 3);
    close(fd);
    fd = ASK(&j, "{\"what\": \"grow\", \"hosts\": \"c:2\"}");
    j.asked[0] = '\0';
    close(fd);
    answers(&j, -1);
    assert_string_equal(j.asked, "");
    job_close(&j);
}

/* Those that ask go, or the job does; and there are never too many. */
static void test_ends(void **state)
{
    int fds[40];
    struct job j;
    char byte;

    (void)state;
    job_open(&j);
    for (int i = 0; i < 40; i++) {
        fds[i] = ASK(&j, "{\"what\": \"shrink\", \"ranks\": \"2\"}");
        answers(&j, fds[i]);
    }
    assert_true(recv(fds[0], &byte, 1, MSG_DONTWAIT) < 0);   /* it waits, */
    assert_true(recv(fds[39], &byte, 1, MSG_DONTWAIT) <= 0); /* and this one has been closed */
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    j.is_done = true;
    change_requests_look(j.requests);
    job_close(&j);
    for (int i = 20; i < 40; i++)
        close(fds[i]);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    *(bool *)arg = true;
}

/* Whoever asks while descriptors have run out waits, and the loop does not spin meanwhile. */
static void test_no_descriptors(void **state)
{
    static const struct timeval moment = {.tv_usec = 50000};
    struct rlimit files, none;
    struct job j;
    bool is_over = false;
    int fd, turns = 0;

    (void)state;
    job_open(&j);
    fd = ASK(&j, "{\"what\": \"shrink\", \"ranks\": \"2\"}");
    getrlimit(RLIMIT_NOFILE, &files);
    none = files;
    none.rlim_cur = 0;
    event_base_once(j.base, -1, EV_TIMEOUT, on_tick, &is_over, &moment);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    while (!is_over) {
        event_base_loop(j.base, EVLOOP_ONCE);
        turns++;
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(turns < 20);
    while (!j.asked[0])
        event_base_loop(j.base, EVLOOP_ONCE);
    assert_string_equal(j.asked, "shrink 2");
    j.is_done = true;
    change_requests_look(j.requests);
    expect_end(&j, fd, "the ranks have left");
    job_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shrink),         cmocka_unit_test(test_grow),
        cmocka_unit_test(test_malformed),      cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
