/* SPDX-License-Identifier: MIT */
/*
 * test_join_branch.c: host 0 of a tree, between a head and the hosts below it: what passes, what
 * does not, who is not let in, and that little is kept if one side does not read. All ends are on
 * one loop; only the handshake, which blocks, is done in a thread.
 */
#include "launcher/wire/join/join_branch.h"

#include "common/clock.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"
#include "launcher/wire/uplink/uplink_address.h"
#include "launcher/wire/uplink/uplink_call.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* Fan-out 2: hosts 2 and 3 are below host 0, and 6 and 7 below host 2. */
enum { SELF = 0, CHILD = 2, GRANDCHILD = 6, HOSTS = 20, PATIENCE_MS = 30000 };
enum { FLOOD = 40 << 20, PIECE = 32 << 10, UP_MOST = UPLINK_KEPT + (256 << 10) };

static const uint8_t key[AUTH_SECRET] = {1, 2, 3};
static const uint8_t other_key[AUTH_SECRET] = {1, 2, 4};

/* One end of a connection: the head's, host 0's towards it, or that of a host below. */
struct end {
    struct uplink_stream *stream;
    char told[1024]; /* the frames that have come, as words */
    size_t bytes;    /* how many DATA had */
    bool is_lost;
};

static struct event_base *base;
static struct join_branch *branch;
static struct end head, up;
static int left;

#define LOOP_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int64_t until_ = clock_ms() + PATIENCE_MS;                                                 \
                                                                                                   \
        while (!(condition)) {                                                                     \
            if (clock_ms() > until_)                                                               \
                fail_msg("never: %s (the head got: %s)", #condition, head.told);                   \
            loop_once();                                                                           \
        }                                                                                          \
    } while (0)

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
}

static void loop_once(void)
{
    static const struct timeval tick = {.tv_usec = 5000};

    event_base_once(base, -1, EV_TIMEOUT, on_tick, NULL, &tick);
    event_base_loop(base, EVLOOP_ONCE);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void tell(struct end *e, int host, const struct frame *f)
{
    size_t used = strlen(e->told);

    if (f->type == UPLINK_DATA)
        e->bytes += f->size;
    else if (f->type != UPLINK_PING && f->type != UPLINK_PONG)
        snprintf(e->told + used, sizeof(e->told) - used, "%d:%d %.*s; ", host, f->type,
                 (int)f->size, (const char *)f->payload);
}

static void on_frame(const struct frame *f, void *arg)
{
    struct frame inner;
    uint32_t host;

    if (f->type != UPLINK_ROUTED) {
        tell(arg, -1, f);
        return;
    }
    assert_true(uplink_route_take(f, &host, &inner));
    tell(arg, (int)host, &inner);
}

static void on_up_frame(const struct frame *f, void *arg)
{
    struct uplink_many m;

    (void)arg;
    if (f->type == UPLINK_MANY) {
        assert_true(uplink_many_take(&m, f, HOSTS));
        join_branch_spread(branch, f, &m);
        return;
    }
    assert_int_equal(f->type, UPLINK_ROUTED);
    assert_true(join_branch_pass(branch, f));
}

static void on_up_room(void *arg)
{
    (void)arg;
    if (branch)
        join_branch_resume(branch);
}

static void on_end(const char *why, void *arg)
{
    (void)why;
    ((struct end *)arg)->is_lost = true;
}

static void on_left(void *arg)
{
    (void)arg;
    left++;
}

static int set_up(void **state)
{
    const struct auth_keys keys[] = {{{1}, {2}}, {{2}, {1}}};
    const struct uplink_stream_events at_head = {on_frame, on_end, NULL, &head};
    const struct uplink_stream_events at_host = {on_up_frame, on_end, on_up_room, &up};
    struct join_branch_config config = {
        .tree = {2, 0, HOSTS}, .index = SELF, .ip = "127.0.0.1", .key = key, .on_left = on_left};
    struct fault why;
    int pair[2];

    (void)state;
    head = up = (struct end){0};
    left = 0;
    base = event_base_new();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) ||
        uplink_stream_open(&head.stream, base, pair[0], &keys[0], &at_head, &why) ||
        uplink_stream_open(&up.stream, base, pair[1], &keys[1], &at_host, &why))
        return -1;
    config.up = up.stream;
    return join_branch_open(&branch, base, &config, &why);
}

static int tear_down(void **state)
{
    (void)state;
    join_branch_close(branch);
    branch = NULL;
    uplink_stream_close(up.stream);
    uplink_stream_close(head.stream);
    event_base_free(base);
    return 0;
}

/* --- hosts below ------------------------------------------------------------------------------ */

struct caller {
    struct uplink_call call;
    char host[UPLINK_HOST];
    int fd, rc;
    struct auth_keys keys;
    struct fault why;
    atomic_bool is_done;
};

static void *call_run(void *arg)
{
    struct caller *c = arg;

    c->rc = uplink_call(&c->fd, &c->keys, &c->call, &c->why);
    c->is_done = true;
    return NULL;
}

/* Calls as host `index`. Returns uplink_call()'s code. */
static int host_call(struct end *e, int index, const uint8_t *with)
{
    struct caller c = {.call = {.index = index, .hosts = HOSTS, .key = with, .limit_ms = 10000}};
    const struct uplink_stream_events events = {on_frame, on_end, NULL, e};
    pthread_t thread;

    *e = (struct end){0};
    assert_true(uplink_address_split(join_branch_where(branch), c.host, &c.call.port));
    c.call.host = c.host;
    assert_int_equal(pthread_create(&thread, NULL, call_run, &c), 0);
    LOOP_UNTIL(c.is_done);
    pthread_join(thread, NULL);
    if (c.rc)
        return c.rc;
    return uplink_stream_open(&e->stream, base, c.fd, &c.keys, &events, &c.why);
}

static void child_join(struct end *e)
{
    assert_int_equal(host_call(e, CHILD, key), 0);
    LOOP_UNTIL(strstr(e->told, "-1:16 "));
    uplink_stream_send(e->stream, UPLINK_HERE, "n2", 2);
    LOOP_UNTIL(strstr(head.told, "2:18 n2; "));
}

static void head_send(int host, int type, const char *text)
{
    const struct uplink_route to = {.stream = head.stream, .host = host};

    uplink_route_send(&to, type, text, strlen(text));
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_pass(void **state)
{
    const struct uplink_route below = {.stream = NULL, .host = GRANDCHILD};
    struct uplink_route from;
    struct end child;

    (void)state;
    child_join(&child);
    head_send(CHILD, UPLINK_CLOSE, "down");
    LOOP_UNTIL(strstr(child.told, "-1:23 down; "));
    head_send(GRANDCHILD, UPLINK_CLOSE, "deeper");
    LOOP_UNTIL(strstr(child.told, "6:23 deeper; "));
    uplink_stream_send(child.stream, UPLINK_SHUT, "up", 2);
    LOOP_UNTIL(strstr(head.told, "2:21 up; "));
    from = below;
    from.stream = child.stream;
    uplink_route_send(&from, UPLINK_SHUT, "from below", 10);
    LOOP_UNTIL(strstr(head.told, "6:21 from below; "));
    head_send(3, UPLINK_CLOSE, "to one that is not there"); /* is dropped */
    head_send(CHILD, UPLINK_CLOSE, "after");
    LOOP_UNTIL(strstr(child.told, "-1:23 after; "));
    uplink_stream_close(child.stream);
    LOOP_UNTIL(strstr(head.told, "2:28 the other side has closed the connection; "));
    assert_int_equal(left, 1);
    child_join(&child); /* its place is free again */
    join_branch_finish(branch, 7);
    LOOP_UNTIL(child.is_lost);
    assert_non_null(strstr(child.told, "-1:24 "));
    uplink_stream_close(child.stream);
}

static void many_send(struct uplink_range range, const char *bytes)
{
    const struct uplink_many m = {.run = 1,
                                  .ranges = {range},
                                  .count = 1,
                                  .bytes = (const uint8_t *)bytes,
                                  .size = strlen(bytes)};

    uplink_many_send(&m, head.stream);
}

/* A frame for many is passed on once, to those below who have some of the hosts. */
static void test_many(void **state)
{
    struct end child;

    (void)state;
    child_join(&child);
    child.told[0] = '\0';
    many_send((struct uplink_range){SELF, HOSTS - 1}, "all");
    many_send((struct uplink_range){SELF, SELF}, "this host");
    many_send((struct uplink_range){3, 5}, "others");
    many_send((struct uplink_range){GRANDCHILD, GRANDCHILD}, "one below");
    head_send(CHILD, UPLINK_CLOSE, "after");
    LOOP_UNTIL(strstr(child.told, "-1:23 after; "));
    assert_string_equal(child.told, "-1:31 ; -1:31 ; -1:23 after; ");
    uplink_stream_close(child.stream);
}

static void test_not_for_here(void **state)
{
    static uint8_t bytes[] = {0, 0, 0, 4, UPLINK_CLOSE, 0};
    struct frame f = {UPLINK_ROUTED, sizeof(bytes), bytes};

    (void)state;
    assert_false(join_branch_pass(branch, &f)); /* host 4 is below host 1 */
    bytes[3] = SELF;
    assert_false(join_branch_pass(branch, &f));
    bytes[3] = HOSTS;
    assert_false(join_branch_pass(branch, &f));
    bytes[0] = 255;
    assert_false(join_branch_pass(branch, &f));
    f.size = 4;
    assert_false(join_branch_pass(branch, &f));
}

static void expect_lie(int host, int type)
{
    struct uplink_route from;
    struct end child;

    head.told[0] = '\0';
    child_join(&child);
    from = (struct uplink_route){.stream = child.stream, .host = host};
    uplink_route_send(&from, type, "lie", 3);
    LOOP_UNTIL(strstr(head.told, "2:28 it sent a message for a host that is not below it; "));
    assert_null(strstr(head.told, "lie"));
    LOOP_UNTIL(child.is_lost);
    uplink_stream_close(child.stream);
}

/* A host that speaks for others than those below it, or for itself as if it were below. */
static void test_lies(void **state)
{
    (void)state;
    expect_lie(3, UPLINK_DATA);
    expect_lie(SELF, UPLINK_DATA);
    expect_lie(CHILD, UPLINK_DATA);
    expect_lie(HOSTS, UPLINK_DATA);
    expect_lie(GRANDCHILD, UPLINK_ROUTED);
}

static void expect_refusal(int index, const char *words)
{
    struct end e;

    assert_int_equal(host_call(&e, index, key), 0);
    LOOP_UNTIL(e.is_lost);
    if (!strstr(e.told, words))
        fail_msg("%s", e.told);
    assert_null(strstr(e.told, "-1:16 "));
    uplink_stream_close(e.stream);
}

static void test_not_wanted(void **state)
{
    struct end child, stranger;

    (void)state;
    child_join(&child);
    expect_refusal(CHILD, "index 2 has joined already, from 127.0.0.1:");
    expect_refusal(4, "index 4 is not one of those that host 0 waits for");
    expect_refusal(HOSTS, "the indices 0 to 19, not for 20");
    assert_int_equal(host_call(&stranger, 3, other_key), ML_ERR_REFUSED);
    assert_false(child.is_lost);
    uplink_stream_close(child.stream);
}

static void pieces_send(const struct uplink_route *to)
{
    static const char piece[PIECE];

    for (size_t sent = 0; sent < FLOOD; sent += PIECE)
        uplink_route_send(to, UPLINK_DATA, piece, PIECE);
}

static void test_head_does_not_read(void **state)
{
    struct uplink_route from;
    struct end child;

    (void)state;
    child_join(&child);
    from = (struct uplink_route){.stream = child.stream, .host = -1};
    uplink_stream_hold(head.stream, true);
    pieces_send(&from);
    LOOP_UNTIL(uplink_stream_kept(up.stream) >= UPLINK_KEPT);
    for (int i = 0; i < 200; i++) {
        loop_once();
        assert_true(uplink_stream_kept(up.stream) < UP_MOST);
    }
    uplink_stream_hold(head.stream, false);
    LOOP_UNTIL(head.bytes == FLOOD);
    uplink_stream_close(child.stream);
}

static void test_host_below_does_not_read(void **state)
{
    const struct uplink_route to = {.stream = head.stream, .host = CHILD};
    struct end child;

    (void)state;
    child_join(&child);
    uplink_stream_hold(child.stream, true);
    pieces_send(&to);
    LOOP_UNTIL(uplink_stream_is_held(up.stream));
    for (int i = 0; i < 200; i++)
        loop_once();
    assert_true(uplink_stream_kept(head.stream) > FLOOD / 4); /* the head has to wait */
    uplink_stream_hold(child.stream, false);
    LOOP_UNTIL(child.bytes == FLOOD);
    assert_false(uplink_stream_is_held(up.stream));
    uplink_stream_close(child.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_for_here, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_wanted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_head_does_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_host_below_does_not_read, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
