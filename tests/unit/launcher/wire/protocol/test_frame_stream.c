/* SPDX-License-Identifier: MIT */
/* test_frame_stream.c: what a peer has sent before its end is read, whatever is sent meanwhile. */
#include "launcher/wire/protocol/frame_stream.h"

#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 64 << 10 /* written at once, and not in the next turn of the loop */ };

struct seen {
    int frames, last_type, ends;
    const char *why;
};

static void on_frame(const struct frame *f, void *arg)
{
    struct seen *s = arg;

    assert_int_equal(s->ends, 0);
    s->frames++;
    s->last_type = f->type;
}

static void on_end(const char *why, void *arg)
{
    struct seen *s = arg;

    s->ends++;
    s->why = why;
}

/* A stream whose peer has sent the frame `type` and is gone. */
static struct frame_stream *gone_open(struct event_base *base, struct seen *seen, uint8_t type)
{
    const struct frame_stream_events events = {on_frame, on_end, NULL, seen};
    uint8_t header[FRAME_HEADER];
    struct frame_stream *s = NULL;
    struct fault why;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(frame_stream_open(&s, base, ends[0], ends[0], &events, &why), 0);
    frame_header(header, type, 0);
    assert_int_equal(write(ends[1], header, sizeof(header)), sizeof(header));
    close(ends[1]);
    return s;
}

static void end_await(struct event_base *base, const struct seen *seen)
{
    while (!seen->ends)
        assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
    assert_int_equal(seen->frames, 1);
    assert_int_equal(seen->last_type, 7);
    assert_int_equal(seen->ends, 1);
    assert_null(seen->why);
}

/* As when the agent of the only host ends after DONE while mlaunch grants it credit. */
static void test_last_words(void **state)
{
    static const char large[LARGE];
    struct event_base *base = event_base_new();

    (void)state;
    for (size_t size = 0; size <= LARGE; size += LARGE) {
        struct seen seen = {0};
        struct frame_stream *s = gone_open(base, &seen, 7);

        frame_stream_send(s, 1, large, size);
        frame_stream_flush(s);
        assert_int_equal(seen.ends, 0);
        frame_stream_send(s, 1, large, size);
        assert_int_equal(frame_stream_kept(s), 0);
        end_await(base, &seen);
        frame_stream_close(s);
    }
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_last_words)};

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
