/* SPDX-License-Identifier: MIT */
/*
 * test_input.c: standard input for no rank, one or all: what each gets, how far it is read ahead of
 * the slowest rank, its end, and ranks that end before it.
 */
#include "launcher/run/stdio/input.h"

#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <fcntl.h>
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

enum { RANKS = 3, PATIENCE_MS = 20000 };

/* Standard input is a pipe that the test writes to. */
struct scene {
    struct event_base *base;
    struct roster where;
    struct plan plan;
    struct input *input;
    int writer, saved; /* the pipe's other end; the test's own standard input */
    struct got {
        size_t size;
        int ends;
        char text[64]; /* the first bytes */
    } got[RANKS];
};

static void on_send(int rank, const void *bytes, size_t size, void *arg)
{
    struct got *g;

    if (rank == INPUT_ALL) {
        for (int i = 0; i < RANKS; i++)
            on_send(i, bytes, size, arg);
        return;
    }
    g = &((struct scene *)arg)->got[rank];
    if (size == 0)
        g->ends++;
    if (g->size < sizeof(g->text) - 1) {
        size_t left = sizeof(g->text) - 1 - g->size;

        memcpy(g->text + g->size, bytes, size < left ? size : left);
    }
    g->size += size;
}

static int scene_open(void **state)
{
    static struct scene scene;
    struct scene *s = *state = &scene;
    int ends[2];

    memset(s, 0, sizeof(*s));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    s->saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    s->writer = ends[1];
    s->base = event_base_new();
    return 0;
}

static void input_begin(struct scene *s, enum stdin_mode mode, int rank)
{
    struct fault why;

    s->plan.where = &s->where;
    s->plan.where->size = RANKS;
    s->plan.job.stdin_mode = mode;
    s->plan.job.stdin_rank = rank;
    assert_int_equal(input_mode(&s->plan), mode);
    assert_int_equal(input_open(&s->input, s->base, &s->plan, mode, on_send, s, &why), 0);
}

static void end_input(struct scene *s)
{
    close(s->writer);
    s->writer = -1;
}

/* Also after a failed assertion: the input's thread reads standard input. */
static int scene_close(void **state)
{
    struct scene *s = *state;

    input_close(s->input);
    event_base_free(s->base);
    if (s->writer >= 0)
        close(s->writer);
    dup2(s->saved, STDIN_FILENO);
    close(s->saved);
    return 0;
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    *(bool *)arg = true;
}

/* Runs the loop until *size is `wanted`, and then until nothing more is under way. */
static void run_until(struct scene *s, const size_t *size, size_t wanted)
{
    const struct timeval limit = {PATIENCE_MS / 1000, 0};
    bool late = false;
    struct event *timer = evtimer_new(s->base, on_limit, &late);

    evtimer_add(timer, &limit);
    while (*size < wanted && !late)
        event_base_loop(s->base, EVLOOP_ONCE);
    event_free(timer);
    event_base_loop(s->base, EVLOOP_NONBLOCK);
    assert_int_equal(*size, wanted);
}

static void run_until_end(struct scene *s, int rank)
{
    const struct timeval limit = {PATIENCE_MS / 1000, 0};
    bool late = false;
    struct event *timer = evtimer_new(s->base, on_limit, &late);

    evtimer_add(timer, &limit);
    while (s->got[rank].ends == 0 && !late)
        event_base_loop(s->base, EVLOOP_ONCE);
    event_free(timer);
    assert_int_equal(s->got[rank].ends, 1);
}

/* Runs the loop for a moment in which nothing may come. */
static void run_a_moment(struct scene *s)
{
    const struct timeval moment = {.tv_usec = 50000};
    bool over = false;
    struct event *timer = evtimer_new(s->base, on_limit, &over);

    evtimer_add(timer, &moment);
    while (!over)
        event_base_loop(s->base, EVLOOP_ONCE);
    event_free(timer);
}

/* Gives a text that the pipe has room for. */
static void give(struct scene *s, const char *text)
{
    assert_int_equal(write(s->writer, text, strlen(text)), strlen(text));
}

/* Gives `size` bytes, a piece whenever the pipe has room. */
static void give_all(struct scene *s, size_t size, const size_t *until, size_t wanted)
{
    char piece[4096] = "";
    const struct timeval limit = {PATIENCE_MS / 1000, 0};
    bool late = false;
    struct event *timer = evtimer_new(s->base, on_limit, &late);

    evtimer_add(timer, &limit);
    fcntl(s->writer, F_SETFL, O_NONBLOCK);
    while ((size > 0 || *until < wanted) && !late) {
        ssize_t n = write(s->writer, piece, size < sizeof(piece) ? size : sizeof(piece));

        if (n > 0)
            size -= (size_t)n;
        event_base_loop(s->base, EVLOOP_NONBLOCK);
    }
    event_free(timer);
    assert_int_equal(size, 0);
}

static void test_all(void **state)
{
    struct scene *s = *state;

    input_begin(s, STDIN_ALL, 0);
    give(s, "early ");
    run_a_moment(s);
    assert_int_equal(s->got[0].size, 0); /* the ranks do not run yet */
    input_start(s->input);
    run_until(s, &s->got[2].size, 6);
    give(s, "late");
    run_until(s, &s->got[2].size, 10);
    end_input(s);
    run_until_end(s, 2);
    for (int i = 0; i < RANKS; i++) {
        assert_string_equal(s->got[i].text, "early late");
        assert_int_equal(s->got[i].ends, 1);
    }
}

static void test_one(void **state)
{
    struct scene *s = *state;

    input_begin(s, STDIN_RANK, 1);
    input_start(s->input);
    give(s, "for one");
    end_input(s);
    run_until_end(s, 1);
    assert_string_equal(s->got[1].text, "for one");
    assert_int_equal(s->got[0].size + s->got[2].size, 0);
    assert_int_equal(s->got[0].ends + s->got[2].ends, 0);
}

/* Nothing is read that no rank gets: the user's next command may want it. */
static void test_none(void **state)
{
    struct scene *s = *state;
    char left[8] = "";

    input_begin(s, STDIN_NONE, 0);
    input_start(s->input);
    give(s, "kept");
    run_a_moment(s);
    input_on_credit(s->input, 0, 1);
    input_rank_ended(s->input, 0);
    input_wake(s->input);
    run_a_moment(s);
    assert_int_equal(s->got[0].size + s->got[1].size + s->got[2].size, 0);
    assert_int_equal(read(STDIN_FILENO, left, sizeof(left)), 4);
}

/* No rank is sent more than its window, and with several the slowest sets the pace. */
static void test_window(void **state)
{
    struct scene *s = *state;
    size_t sent;

    input_begin(s, STDIN_ALL, 0);
    input_start(s->input);
    give_all(s, AGENT_STDIN_WINDOW, &s->got[0].size, AGENT_STDIN_WINDOW / 2);
    fcntl(s->writer, F_SETFL, 0);
    give(s, "more");
    run_a_moment(s);
    sent = s->got[0].size;
    assert_true(sent <= AGENT_STDIN_WINDOW);
    /* The fast ranks' credit alone does not help. */
    input_on_credit(s->input, 0, (uint32_t)sent);
    input_on_credit(s->input, 1, (uint32_t)sent);
    run_a_moment(s);
    assert_true(s->got[0].size <= AGENT_STDIN_WINDOW);
    assert_int_equal(s->got[0].size, s->got[2].size);
    /* More credit than was sent is not saved up. */
    input_on_credit(s->input, 2, UINT32_MAX);
    run_until(s, &s->got[2].size, AGENT_STDIN_WINDOW + 4);
    input_on_credit(s->input, 0, UINT32_MAX);
    input_on_credit(s->input, 1, UINT32_MAX);
    sent = s->got[2].size;
    give_all(s, AGENT_STDIN_WINDOW, &s->got[2].size, AGENT_STDIN_WINDOW);
    run_a_moment(s);
    assert_true(s->got[2].size <= sent + AGENT_STDIN_WINDOW);
}

/* A rank that ends no longer holds up the others. */
static void test_ended(void **state)
{
    struct scene *s = *state;

    input_begin(s, STDIN_ALL, 0);
    input_start(s->input);
    give_all(s, AGENT_STDIN_WINDOW, &s->got[0].size, AGENT_STDIN_WINDOW / 2);
    run_a_moment(s);
    input_on_credit(s->input, 0, UINT32_MAX);
    input_on_credit(s->input, 1, UINT32_MAX);
    input_rank_ended(s->input, 2);
    input_rank_ended(s->input, 2); /* without effect */
    fcntl(s->writer, F_SETFL, 0);
    give(s, "the others go on");
    run_until(s, &s->got[0].size, AGENT_STDIN_WINDOW + 16);
}

/* After a restart the ranks get what comes next; after the end, the end again. */
static void test_restart(void **state)
{
    struct scene *s = *state;

    input_begin(s, STDIN_RANK, 0);
    input_start(s->input);
    give(s, "first ");
    run_until(s, &s->got[0].size, 6);
    input_rank_ended(s->input, 0);
    give(s, "second");
    run_a_moment(s);
    assert_int_equal(s->got[0].size, 6);
    input_start(s->input);
    run_until(s, &s->got[0].size, 12);
    end_input(s);
    run_until_end(s, 0);
    assert_string_equal(s->got[0].text, "first second");
    input_rank_ended(s->input, 0);
    s->got[0].ends = 0;
    input_start(s->input);
    assert_int_equal(s->got[0].ends, 1);
}

/* It can be closed while its thread waits for input. */
static void test_close(void **state)
{
    struct scene *s = *state;

    input_begin(s, STDIN_ALL, 0);
    input_start(s->input);
    run_a_moment(s); /* then the scene closes it */
    input_close(NULL);
}

static int thread_count(void)
{
    struct stat tasks;

    assert_int_equal(stat("/proc/self/task", &tasks), 0);
    return (int)tasks.st_nlink - 2;
}

/* The null device is at its end, and no thread waits for that. */
static void test_null_device(void **state)
{
    struct scene *s = *state;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), threads = thread_count();

    assert_true(null >= 0);
    assert_int_equal(dup2(null, STDIN_FILENO), STDIN_FILENO);
    close(null);
    input_begin(s, STDIN_RANK, 1);
    assert_int_equal(thread_count(), threads);
    input_start(s->input);
    assert_int_equal(s->got[1].ends, 1);
    input_start(s->input); /* the job is started again */
    assert_int_equal(s->got[1].ends, 2);
    assert_int_equal(s->got[1].size, 0);
    assert_int_equal(s->got[0].ends, 0);
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_all),    SCENE_TEST(test_one),         SCENE_TEST(test_none),
        SCENE_TEST(test_window), SCENE_TEST(test_ended),       SCENE_TEST(test_restart),
        SCENE_TEST(test_close),  SCENE_TEST(test_null_device),
    };

    if (fcntl(STDIN_FILENO, F_GETFD) <
        0) /* the pipes must not become standard input by themselves */
        assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
