/* SPDX-License-Identifier: MIT */
/*
 * test_agent_frames.c: what becomes of each frame in each state of the agent. The test has the
 * launcher's end of the channel. What frames cause is counted, and not done.
 */
#include "launcher/agent/agent_frames.h"

#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/run/agent.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int calls; /* how often the functions below were called */

/* The linker puts these in the place of what the frames' handlers call. They read no parameters,
 * and a result says that all went well. */
#define COUNTED(function)                                                                          \
    int __wrap_##function(void);                                                                   \
    int __wrap_##function(void)                                                                    \
    {                                                                                              \
        calls++;                                                                                   \
        return 0;                                                                                  \
    }
COUNTED(copier_child_order)
COUNTED(copier_child_start)
COUNTED(coordinator_session_follow)
COUNTED(coordinator_session_host_gone)
COUNTED(coordinator_session_take_over)
COUNTED(job_finish_forget)
COUNTED(job_prepare)
COUNTED(job_prepare_file)
COUNTED(job_prepare_staged)
COUNTED(job_place_write_file)
COUNTED(job_place_write_wiring)
COUNTED(job_spec_change_grow)
COUNTED(job_spec_change_place)
COUNTED(job_spec_rewire)
COUNTED(rank_input_take)
COUNTED(rank_output_acknowledge)
COUNTED(rank_pty_resize)
COUNTED(ranks_start)
COUNTED(ranks_start_again)
COUNTED(ranks_start_grow)
COUNTED(ranks_start_resume)
COUNTED(ranks_stop_ask)
COUNTED(ranks_stop_begin)
COUNTED(ranks_stop_hurry)
COUNTED(ranks_stop_leave)
COUNTED(ranks_stop_signal_all)
COUNTED(ranks_stop_warn)
COUNTED(stack_child_ask)

struct scene {
    struct agent agent;
    struct agent_rank rank;
    struct job_spec job;
    struct job_rank of_job;
    struct staged_place place;
    int fd; /* the launcher's end of the channel */
    struct frame_reader *reader;
    bool has_ended;
};

static void on_frame(const struct frame *f, void *arg)
{
    (void)f, (void)arg;
    fail_msg("the launcher sends no frame");
}

static void on_end(const char *why, void *arg)
{
    struct scene *s = arg;

    assert_string_equal(why, "the launcher sent a frame that is invalid now");
    s->has_ended = true;
}

static void on_check(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    calls++;
}

/* An agent with a job of one rank, in that state. */
static void scene_open(struct scene *s, enum agent_state state)
{
    const struct frame_stream_events events = {on_frame, on_end, NULL, s};
    struct agent *a = &s->agent;
    struct fault why;
    int pair[2];

    memset(s, 0, sizeof(*s));
    calls = 0;
    s->job = (struct job_spec){.size = 1, .hosts = 1, .rank_count = 1, .ranks = &s->of_job};
    s->rank = (struct agent_rank){.agent = a, .job = &s->of_job, .pty = -1};
    a->run.state = state;
    a->run.job = &s->job;
    a->run.ranks.all = &s->rank;
    a->run.place.staged = &s->place;
    a->base = event_base_new();
    assert_non_null(a->base);
    a->check_event = event_new(a->base, -1, 0, on_check, NULL);
    assert_non_null(a->check_event);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    s->fd = pair[1];
    assert_int_equal(
        frame_stream_open(&a->launcher.channel, a->base, pair[0], pair[0], &events, &why), 0);
    assert_int_equal(frame_reader_create(&s->reader, FRAME_LIMIT, &why), 0);
}

static void scene_close(struct scene *s)
{
    json_decref(s->agent.run.shared);
    frame_stream_close(s->agent.launcher.channel);
    event_free(s->agent.check_event);
    event_base_free(s->agent.base);
    frame_reader_destroy(s->reader);
    close(s->fd);
}

/* The type of the next frame of the agent; 0: there is none. */
static int hear(struct scene *s)
{
    struct frame f;
    struct fault why;
    char bytes[4096];
    int rc;

    while ((rc = frame_reader_next(s->reader, &f, &why)) == 0) {
        ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n <= 0)
            return 0;
        assert_int_equal(frame_reader_feed(s->reader, bytes, (size_t)n, &why), 0);
    }
    assert_int_equal(rc, 1);
    return f.type;
}

/* Feeds it, and says what became of it: T taken, R refused, I ignored. Stores the type of the
 * agent's first frame, or 0. */
static char feed(struct scene *s, uint8_t type, const void *payload, size_t size, int *heard)
{
    uint8_t copy[128] = {0};
    const struct frame f = {.type = type, .size = (uint32_t)size, .payload = copy};
    struct agent *a = &s->agent;
    bool was_paused = a->launcher.is_paused, has_broken;

    assert_true(size < sizeof(copy));
    memcpy(copy, payload, size);
    agent_frames_on_frame(&f, a);
    has_broken = event_base_got_break(a->base); /* which the next loop forgets */
    event_base_loop(a->base, EVLOOP_NONBLOCK);
    *heard = hear(s);
    if (s->has_ended) {
        assert_int_equal(calls, 0);
        return 'R';
    }
    return calls || *heard || has_broken || a->launcher.is_paused != was_paused || a->run.shared
               ? 'T'
               : 'I';
}

static const struct line {
    const char *name;
    uint8_t type;
    const char *cells; /* HELLO, RECEIVING, PREPARING, READY, RUNNING, DONE */
    uint32_t size, least;
    const char *payload;
    int answer; /* the frame that answers it; or 0 */
    bool is_awaited;
} lines[] = {
#define BYTES(text) sizeof(text) - 1
#define LINE(name, cells, least, payload, answer, is_awaited)                                      \
    {                                                                                              \
#name, LAUNCH_##name, cells, BYTES(payload), least, payload, answer, is_awaited            \
    }
    LINE(SHARED, "TIIIII", 2, "{}", 0, false),
    LINE(JOB, "TRRRRR", 2, "{}", 0, true),
    LINE(QUERY, "TTTTTT", 2, "{}", 0, true),
    LINE(SYNC, "TTIIII", 1, "x", 0, false),
    LINE(STAGED, "RTIIII", 0, "", 0, false),
    LINE(FILE, "RTIIII", 5, "\0\0\0\0x", 0, false),
    LINE(START, "RRRTRI", 2, "{}", 0, true),
    LINE(STDIN, "RRRTTI", 4, "\0\0\0\0x", 0, false),
    LINE(CREDIT, "RRRTTI", 4, "\0\0\0\1", 0, false),
    LINE(SIGNAL, "RRRTTI", 4, "\0\0\0\12", 0, false),
    LINE(STOP, "RRRTTI", 8, "\0\0\0\17\0\0\0\0", 0, true),
    LINE(ASK, "RRRTTI", 0, "", 0, false),
    LINE(GONE, "RRRTTT", 8, "\0\0\0\0\0\0\0\0", 0, false),
    LINE(PLACED, "RRRTTT", 2, "{\"host\": 0, \"name\": \"b\", \"address\": \"\", \"wiring\": []}",
         AGENT_WIRED, true),
    LINE(REPLACE, "RRRTTT", 8, "\0\0\0\0\0\0\0\0", 0, false),
    LINE(GROW, "RRRTTT", 12, "\0\0\0\1\0\0\0\0\0\0\0\0", AGENT_GREW, true),
    LINE(LEAVE, "RRRTTT", 4, "\0\0\0\0", 0, false),
    LINE(COORDINATE, "RRRTTI", 2, "{\"membership\": 0, \"met\": true, \"count\": 0, \"ended\": []}",
         AGENT_COORDINATES, true),
    LINE(KEEPER, "RRRTTI", 0, "127.0.0.1:1", 0, false),
    LINE(MOVED, "RRRTTI", 1, "127.0.0.1:1", 0, false),
    LINE(KILL, "RRRTTI", 0, "", 0, true),
    LINE(DROP, "RRRTTI", 0, "", 0, false),
    LINE(RESIZE, "RRRTTI", 8, "\0\0\0\30\0\0\0\120", 0, false),
    LINE(PAUSE, "TTTTTT", 0, "", 0, false),
    LINE(RESUME, "TTTTTT", 0, "", 0, false),
    LINE(PING, "TTTTTT", 0, "", AGENT_PONG, true),
    LINE(BYE, "TTTTTT", 0, "", 0, true),
    LINE(AGAIN, "TRRTRT", 0, "", AGENT_HELLO, true),
};

enum { LINES = sizeof(lines) / sizeof(*lines) };

static void test_cells(void **state)
{
    struct scene s;

    (void)state;
    for (int i = 0; i < LINES; i++) {
        const struct line *l = &lines[i];

        assert_int_equal(strlen(l->cells), AGENT_STATES);
        for (int k = 0; k < AGENT_STATES; k++) {
            int heard;
            char became;

            scene_open(&s, (enum agent_state)k);
            s.agent.launcher.is_paused = l->type == LAUNCH_RESUME;
            became = feed(&s, l->type, l->payload, l->size, &heard);
            if (became != l->cells[k])
                fail_msg("%s in state %d became %c instead of %c", l->name, k, became, l->cells[k]);
            if (became == 'T' && l->answer)
                assert_int_equal(heard, l->answer);
            scene_close(&s);
        }
    }
}

/* What DONE answers, too, is ignored behind it; else nobody would wait for nothing. */
static void test_awaited(void **state)
{
    (void)state;
    for (int i = 0; i < LINES; i++)
        for (int k = 0; lines[i].is_awaited && k < AGENT_IS_DONE; k++)
            assert_int_not_equal(lines[i].cells[k], 'I');
}

static void test_short(void **state)
{
    struct scene s;

    (void)state;
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; lines[i].least > 0 && k < AGENT_STATES; k++) {
            int heard;

            scene_open(&s, (enum agent_state)k);
            assert_int_equal(feed(&s, lines[i].type, lines[i].payload, lines[i].least - 1, &heard),
                             'R');
            scene_close(&s);
        }
    }
}

static bool is_listed(int type)
{
    for (int i = 0; i < LINES; i++)
        if (lines[i].type == type)
            return true;
    return false;
}

/* All other types, among them those of the agent's own frames. */
static void test_unknown(void **state)
{
    struct scene s;

    (void)state;
    for (int type = 0; type <= UINT8_MAX; type++) {
        int heard;

        if (is_listed(type))
            continue;
        scene_open(&s, AGENT_IS_RUNNING);
        assert_int_equal(feed(&s, (uint8_t)type, "xxxxxxxxxxxx", 12, &heard), 'R');
        scene_close(&s);
    }
}

/* SHARED comes once. */
static void test_shared_twice(void **state)
{
    struct scene s;
    int heard;

    (void)state;
    scene_open(&s, AGENT_HAS_SAID_HELLO);
    assert_int_equal(feed(&s, LAUNCH_SHARED, "{}", 2, &heard), 'T');
    assert_int_equal(feed(&s, LAUNCH_SHARED, "{}", 2, &heard), 'R');
    scene_close(&s);
}

/* An agent that has refused its job is about to end. */
static void test_refused(void **state)
{
    struct scene s;

    (void)state;
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < AGENT_STATES; k++) {
            int heard;

            scene_open(&s, (enum agent_state)k);
            s.agent.run.is_refused = true;
            assert_int_equal(feed(&s, lines[i].type, lines[i].payload, lines[i].size, &heard), 'I');
            assert_true(s.agent.launcher.is_heard);
            scene_close(&s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),   cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_short),   cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_shared_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
