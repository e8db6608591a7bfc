/* SPDX-License-Identifier: MIT */
/*
 * test_window_serve.c: a rank that serves its part of a window to one other rank, whose end of the
 * link is the test: what it asks for, short, long and cut in pieces, what must break the window,
 * and what becomes of this rank's own orders.
 */
#include "runtime/window/window_send.h"
#include "runtime/window/window_serve.h"

#include "common/call_kinds.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/message.h"
#include "runtime/group/message_op.h"
#include "runtime/group/wait.h"
#include "runtime/group/world.h"
#include "runtime/tcp/tcp_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    PART = 1 << 16, /* bytes */
    LONG = 1000,    /* bytes of a put or a get that do not fit into a frame */
    HEAD = sizeof(struct message) + sizeof(struct window_frame),
};

struct scene {
    struct world world;
    struct group *group;
    struct window *window;
    struct window_part parts[2];
    int fd; /* the other rank's end */
    _Alignas(8) unsigned char memory[PART];
};

static int scene_open(void **state)
{
    static struct scene scene;
    static const int members[] = {0, 1};
    static int host_of[] = {0, 1};
    static char *names[] = {(char *)"a", (char *)"b"};
    struct scene *s = *state = &scene;
    struct fault why;
    int pair[2];

    memset(s, 0, sizeof(*s));
    s->world = (struct world){.job = {.job = "job", .size = 2}, .size = 2, .hosts = 2};
    s->world.host_of = host_of;
    s->world.host_names = names;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    s->fd = pair[1];
    assert_int_equal(coord_events_open(&s->world.coord_events, NULL, 2, NULL, &why), 0);
    assert_int_equal(group_create(&s->group, &s->world, 0, members, 2, &why), 0);
    assert_int_equal(tcp_link_open(&s->group->links[1], s->group, 1, pair[0], NULL, &why), 0);
    s->parts[0] = (struct window_part){.size = PART, .memory = s->memory};
    s->parts[1] = (struct window_part){.size = PART};
    s->window = window_create();
    assert_non_null(s->window);
    s->window->group = s->group;
    s->window->parts = s->parts;
    assert_int_equal(window_control_create(&s->parts[0].control, 2, &why), 0);
    assert_int_equal(window_serve_start(s->window, &why), 0);
    assert_int_equal(window_serve_begin(s->window, &why), 0);
    window_turn_take(&s->window->turn);
    return 0;
}

static int scene_close(void **state)
{
    struct scene *s = *state;

    window_turn_give(&s->window->turn, false);
    window_serve_end(s->window);
    window_serve_stop(s->window);
    alloc_give(s->parts[0].control);
    window_destroy(s->window);
    s->group->links[1]->ops->close(s->group->links[1]);
    s->group->links[1] = NULL;
    if (s->fd >= 0)
        close(s->fd);
    group_destroy(s->group);
    coord_events_close(s->world.coord_events);
    return 0;
}

/* --- the other rank --------------------------------------------------------------------------- */

static void bytes_write(const struct scene *s, const void *bytes, size_t size)
{
    assert_int_equal(send(s->fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

static void say_bytes(const struct scene *s, const void *bytes, size_t size)
{
    const struct message_op op = {.size = size};
    struct message m;

    message_fill(&m, &s->group->call, &op);
    bytes_write(s, &m, sizeof(m));
    bytes_write(s, bytes, size);
}

static void say(const struct scene *s, struct window_frame f)
{
    say_bytes(s, &f, sizeof(f));
}

static bool hear_bytes(const struct scene *s, void *out, size_t size)
{
    struct message m;
    ssize_t n = recv(s->fd, &m, sizeof(m), MSG_DONTWAIT);

    if (n < 0)
        return false;
    assert_int_equal(n, sizeof(m));
    assert_int_equal(m.kind, CALL_SEND);
    assert_int_equal(m.size, size);
    assert_int_equal(recv(s->fd, out, size, MSG_DONTWAIT | MSG_WAITALL), (ssize_t)size);
    return true;
}

/* The next frame of this rank. Its kind is 0 if there is none. */
static struct window_frame hear(const struct scene *s)
{
    struct window_frame f = {0};

    hear_bytes(s, &f, sizeof(f));
    return f;
}

/* The rank handles all that has come, until there is nothing to do but to sleep. */
static int work(const struct scene *s)
{
    struct waiting waiting = {0};
    int rc;

    do
        rc = window_serve_look(s->window, &waiting);
    while (rc > 0);
    return rc;
}

static void expect_reply(const struct scene *s, uint64_t value)
{
    struct window_frame f = hear(s);

    assert_int_equal(f.kind, FRAME_REPLY);
    assert_int_equal(f.size, 0);
    assert_int_equal(f.value, value);
}

static uint64_t number_at(const struct scene *s, size_t offset)
{
    uint64_t n;

    memcpy(&n, s->memory + offset, sizeof(n));
    return n;
}

/* --- serving ---------------------------------------------------------------------------------- */

static void test_puts(void **state)
{
    const struct scene *s = *state;
    unsigned char bytes[LONG];

    memset(bytes, 'x', sizeof(bytes));
    say(s,
        (struct window_frame){.kind = FRAME_PUT, .offset = 5, .size = 3, .bytes = {'a', 'b', 'c'}});
    say(s, (struct window_frame){.kind = FRAME_PUT,
                                 .offset = PART - LONG,
                                 .size = LONG,
                                 .signals = 1,
                                 .number = 16,
                                 .value = 3});
    assert_int_equal(work(s), 0);
    assert_memory_equal(s->memory + 5, "abc", 3);
    assert_int_equal(number_at(s, 16), 0); /* it is told once the bytes are there */
    say_bytes(s, bytes, sizeof(bytes));
    assert_int_equal(work(s), 0);
    assert_memory_equal(s->memory + PART - LONG, bytes, LONG);
    assert_int_equal(number_at(s, 16), 3);
    assert_int_equal(hear(s).kind, 0); /* nobody has asked for a reply */
}

/* Every byte of two frames and of the bytes that follow them may come by itself. */
static void test_pieces(void **state)
{
    const struct scene *s = *state;
    const struct window_frame f = {.kind = FRAME_PUT, .offset = 8, .size = LONG};
    const struct message_op ops[] = {{.size = sizeof(f)}, {.size = LONG}};
    static unsigned char all[HEAD + sizeof(struct message) + LONG];
    struct message m;

    message_fill(&m, &s->group->call, &ops[0]);
    memcpy(all, &m, sizeof(m));
    memcpy(all + sizeof(m), &f, sizeof(f));
    message_fill(&m, &s->group->call, &ops[1]);
    memcpy(all + HEAD, &m, sizeof(m));
    memset(all + HEAD + sizeof(m), 'y', LONG);
    for (size_t i = 0; i < sizeof(all); i++) {
        bytes_write(s, all + i, 1);
        assert_int_equal(work(s), 0);
    }
    assert_memory_equal(s->memory + 8, all + HEAD + sizeof(m), LONG);
    assert_int_equal(s->memory[7], 0);
    assert_int_equal(s->memory[8 + LONG], 0);
}

static void test_gets(void **state)
{
    struct scene *s = *state;
    struct window_frame f;
    unsigned char bytes[LONG];

    memset(s->memory + 100, 'z', LONG);
    say(s, (struct window_frame){.kind = FRAME_GET, .offset = 98, .size = 4});
    say(s, (struct window_frame){.kind = FRAME_GET, .offset = 100, .size = LONG});
    say(s, (struct window_frame){.kind = FRAME_FLUSH});
    assert_int_equal(work(s), 0);
    f = hear(s);
    assert_int_equal(f.kind, FRAME_REPLY);
    assert_int_equal(f.size, 4);
    assert_memory_equal(f.bytes, "\0\0zz", 4);
    f = hear(s);
    assert_int_equal(f.kind, FRAME_REPLY);
    assert_int_equal(f.size, LONG);
    assert_true(hear_bytes(s, bytes, LONG));
    assert_memory_equal(bytes, s->memory + 100, LONG);
    expect_reply(s, 0);
    assert_int_equal(hear(s).kind, 0);
}

static void test_numbers(void **state)
{
    struct scene *s = *state;
    const uint64_t first = 40;

    memcpy(s->memory + 24, &first, sizeof(first));
    say(s, (struct window_frame){.kind = FRAME_ADD, .offset = 24, .value = 2});
    say(s, (struct window_frame){.kind = FRAME_SWAP, .offset = 24, .number = 41, .value = 7});
    say(s, (struct window_frame){.kind = FRAME_SWAP, .offset = 24, .number = 42, .value = 8});
    assert_int_equal(work(s), 0);
    expect_reply(s, 40);
    expect_reply(s, 42); /* it was another number, and stays */
    expect_reply(s, 42);
    assert_int_equal(number_at(s, 24), 8);
}

/* Short puts in one frame; the last one asks for a reply. */
static void test_batches(void **state)
{
    const struct scene *s = *state;
    struct window_batch b = {0};
    struct window_frame f = {.kind = FRAME_PUTS};

    assert_true(window_frame_batch_add(&b, "hello", 5, 0));
    assert_true(window_frame_batch_add(&b, "you", 3, 30));
    f.size = b.size;
    say(s, f);
    say_bytes(s, b.bytes, b.size);
    assert_int_equal(work(s), 0);
    assert_memory_equal(s->memory, "hello", 5);
    assert_memory_equal(s->memory + 30, "you", 3);
    assert_int_equal(hear(s).kind, 0);
    b.size = 0;
    assert_true(window_frame_batch_add(&b, "J", 1, 0));
    f.size = b.size;
    f.signals = 1;
    memcpy(f.bytes, b.bytes, b.size); /* it fits into the frame */
    say(s, f);
    assert_int_equal(work(s), 0);
    assert_memory_equal(s->memory, "Jello", 5);
    expect_reply(s, 0);
}

static void test_leaving(void **state)
{
    const struct scene *s = *state;
    struct window_control *own = s->parts[0].control;

    say(s, (struct window_frame){.kind = FRAME_SLEEP, .offset = 8});
    say(s, (struct window_frame){.kind = FRAME_LEAVE});
    assert_int_equal(work(s), 0);
    expect_reply(s, 0);
    assert_int_equal(atomic_load(&s->window->peers[1].sleeps), window_frame_number_bit(8));
    assert_int_equal(atomic_load(&own->left), 1);
    assert_int_equal(atomic_load(&own->stages[1]), WINDOW_LEFT);
    assert_int_equal(atomic_load(&own->ended), 0);
    say(s, (struct window_frame){.kind = FRAME_END});
    assert_int_equal(work(s), 0);
    assert_int_equal(atomic_load(&own->ended), 1);
}

/* --- what breaks the window ------------------------------------------------------------------- */

/* The window is broken, nothing has been written, and every order fails from now on. */
static void expect_broken(struct scene *s, int code, const char *text)
{
    static const unsigned char zeros[PART];
    struct fault why = {0};
    struct window_order o = {.frame = {.kind = FRAME_FLUSH}, .peer = 1, .why = &why};

    assert_int_equal(work(s), code);
    assert_non_null(strstr(s->window->why.text, text));
    assert_memory_equal(s->memory, zeros, PART);
    o.done = &o.is_done;
    window_send_order(s->window, &o);
    assert_true(o.is_done);
    assert_int_equal(why.code, code);
    assert_string_equal(why.text, s->window->why.text);
    assert_false(window_send_put_late(s->window, 1, "x", 1, 0));
}

static void expect_refused(const struct window_frame *frames, int count)
{
    void *state;
    struct scene *s;

    scene_open(&state);
    s = state;
    for (int i = 0; i < count; i++)
        say(s, frames[i]);
    expect_broken(s, ML_ERR_LINK,
                  "rank 1 on host b has sent something for a window that makes no sense");
    scene_close(&state);
}

static void test_refused(void **state)
{
    static const struct window_frame frames[] = {
        {.kind = 0},
        {.kind = FRAME_RING + 1},
        {.kind = 255},
        {.kind = FRAME_PUT, .offset = PART, .size = 1},
        {.kind = FRAME_PUT, .offset = PART - 1, .size = 2},
        {.kind = FRAME_PUT, .offset = 1, .size = UINT64_MAX},
        {.kind = FRAME_PUT, .offset = UINT64_MAX, .size = 2},
        {.kind = FRAME_PUT, .size = 1, .signals = 2},
        {.kind = FRAME_PUT, .size = 1, .signals = 1, .number = 4},
        {.kind = FRAME_PUT, .size = 1, .signals = 1, .number = PART},
        {.kind = FRAME_GET, .offset = PART - 8, .size = 9},
        {.kind = FRAME_GET, .size = 0},
        {.kind = FRAME_ADD, .offset = 4},
        {.kind = FRAME_ADD, .offset = PART - 4},
        {.kind = FRAME_SWAP, .offset = UINT64_MAX - 7},
        {.kind = FRAME_PUTS, .size = 0},
        {.kind = FRAME_PUTS, .size = BATCH_ROOM + 1},
        {.kind = FRAME_PUTS, .size = 3},                      /* less than the head of a put */
        {.kind = FRAME_PUTS, .size = 17, .bytes = {[8] = 2}}, /* which says one byte too many */
        {.kind = FRAME_PUTS, .size = 17, .bytes = {[2] = 1, [8] = 1}}, /* beyond the part */
        {.kind = FRAME_REPLY},                                         /* nothing was asked */
        {.kind = FRAME_REPLY, .size = 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
        expect_refused(&frames[i], 1);
}

/* A rank that asks for more at a time than there are replies for is not served any more. */
static void test_too_much_asked(void **state)
{
    struct scene *s = *state;
    int sent = 0, rc = 0;

    while (rc == 0 && sent < 4 * SERVE_CREDITS) {
        say(s, (struct window_frame){.kind = FRAME_GET, .size = PART});
        sent++;
        rc = work(s);
    }
    assert_in_range(sent, SERVE_CREDITS + 1, 4 * SERVE_CREDITS - 1);
    expect_broken(s, ML_ERR_LINK, "makes no sense");
}

/* A message of another call. */
static void test_other_call(void **state)
{
    struct scene *s = *state;
    struct message m = {.kind = CALL_BARRIER, .magic = MESSAGE_MAGIC, .seq = 1, .root = -1};

    bytes_write(s, &m, sizeof(m));
    expect_broken(s, ML_ERR_MISMATCH, "rank 1");
}

static void test_no_message(void **state)
{
    struct scene *s = *state;
    unsigned char noise[HEAD];

    memset(noise, 0xa5, sizeof(noise));
    bytes_write(s, noise, sizeof(noise));
    expect_broken(s, ML_ERR_LINK, "");
}

/* --- this rank's orders ----------------------------------------------------------------------- */

struct asked {
    struct window_order order;
    struct fault why;
};

static void ask(const struct scene *s, struct asked *a, struct window_frame f, void *into)
{
    *a = (struct asked){.order = {.frame = f, .into = into, .peer = 1}};
    a->order.done = &a->order.is_done;
    a->order.why = &a->why;
    window_send_order(s->window, &a->order);
}

static void test_replies(void **state)
{
    const struct scene *s = *state;
    struct asked get, add;
    unsigned char into[LONG + 8] = {0}, bytes[LONG];

    memset(bytes, 'r', sizeof(bytes));
    ask(s, &get, (struct window_frame){.kind = FRAME_GET, .size = LONG}, into);
    ask(s, &add, (struct window_frame){.kind = FRAME_ADD, .value = 1}, NULL);
    assert_int_equal(hear(s).kind, FRAME_GET);
    assert_int_equal(hear(s).kind, FRAME_ADD);
    say(s, (struct window_frame){.kind = FRAME_REPLY, .size = LONG});
    assert_int_equal(work(s), 0);
    assert_false(get.order.is_done);
    say_bytes(s, bytes, LONG);
    assert_int_equal(work(s), 0);
    assert_true(get.order.is_done);
    assert_int_equal(get.why.code, 0);
    assert_memory_equal(into, bytes, LONG);
    assert_int_equal(into[LONG], 0);
    assert_false(add.order.is_done);
    say(s, (struct window_frame){.kind = FRAME_REPLY, .value = 77});
    assert_int_equal(work(s), 0);
    assert_true(add.order.is_done);
    assert_int_equal(add.order.value, 77);
}

/* Replies come in the order of the questions; one of another size breaks the window, and the order
 * has failed. */
static void test_wrong_reply(void **state)
{
    struct scene *s = *state;
    struct asked get, flush;
    unsigned char into[8] = {0};

    ask(s, &get, (struct window_frame){.kind = FRAME_GET, .size = 8}, into);
    ask(s, &flush, (struct window_frame){.kind = FRAME_FLUSH}, NULL);
    say(s, (struct window_frame){.kind = FRAME_REPLY, .size = 9, .bytes = {1}});
    expect_broken(s, ML_ERR_LINK, "(kind 8)");
    assert_true(get.order.is_done && flush.order.is_done);
    assert_int_equal(get.why.code, ML_ERR_LINK);
    assert_int_equal(flush.why.code, ML_ERR_LINK);
    assert_int_equal(into[0], 0);
}

/* At most SERVE_CREDITS questions are under way; each reply lets one more go. */
static void test_credits(void **state)
{
    const struct scene *s = *state;
    static struct asked asked[SERVE_CREDITS + 2];
    int count = SERVE_CREDITS + 2;

    for (int i = 0; i < count; i++)
        ask(s, &asked[i], (struct window_frame){.kind = FRAME_ADD, .value = 1}, NULL);
    for (int i = 0; i < SERVE_CREDITS; i++)
        assert_int_equal(hear(s).kind, FRAME_ADD);
    assert_int_equal(work(s), 0);
    assert_int_equal(hear(s).kind, 0);
    for (int i = 0; i < count; i++) {
        say(s, (struct window_frame){.kind = FRAME_REPLY, .value = (uint64_t)i});
        assert_int_equal(work(s), 0);
        assert_int_equal(hear(s).kind, i < 2 ? FRAME_ADD : 0);
        assert_true(asked[i].order.is_done);
        assert_int_equal(asked[i].order.value, i);
        assert_true(i + 1 == count || !asked[i + 1].order.is_done);
    }
}

/* Short puts wait for what is sent next; a flush goes with them as one frame. */
static void test_late_puts(void **state)
{
    const struct scene *s = *state;
    struct window_peer *p = &s->window->peers[1];
    struct asked flush, add;
    struct window_frame f;
    unsigned char bytes[BATCH_ROOM], part[64] = {0};

    assert_false(window_send_put_along(s->window, 1, "a", 1, 0)); /* with nothing */
    assert_true(window_send_put_late(s->window, 1, "a", 1, 0));
    assert_true(window_send_put_along(s->window, 1, "bcdefgh", 7, 40));
    assert_int_equal(hear(s).kind, 0);
    ask(s, &flush, (struct window_frame){.kind = FRAME_FLUSH}, NULL);
    f = hear(s);
    assert_int_equal(f.kind, FRAME_PUTS);
    assert_int_equal(f.signals, 1);
    assert_true(f.size > FRAME_INLINE);
    assert_true(hear_bytes(s, bytes, (size_t)f.size));
    assert_true(window_frame_batch_apply(bytes, (size_t)f.size, part, sizeof(part)));
    assert_int_equal(part[0], 'a');
    assert_memory_equal(part + 40, "bcdefgh", 7);
    assert_int_equal(atomic_load(&p->flushed), 0);
    say(s, (struct window_frame){.kind = FRAME_REPLY});
    assert_int_equal(work(s), 0);
    assert_true(flush.order.is_done);
    assert_int_equal(atomic_load(&p->flushed), 2);
    assert_true(window_send_put_late(s->window, 1, "i", 1, 0));
    ask(s, &add, (struct window_frame){.kind = FRAME_ADD, .value = 1}, NULL);
    f = hear(s);
    assert_int_equal(f.kind, FRAME_PUTS);
    assert_int_equal(f.signals, 0);
    assert_int_equal(hear(s).kind, FRAME_ADD);
    say(s, (struct window_frame){.kind = FRAME_REPLY});
    assert_int_equal(work(s), 0);
    assert_true(add.order.is_done);
}

/* A batch that is full is sent by itself. */
static void test_full_batch(void **state)
{
    const struct scene *s = *state;
    unsigned char bytes[BATCH_ROOM];
    struct window_frame f;
    int puts = 0;

    memset(bytes, 'b', BATCH_PUT_MOST);
    do {
        assert_true(window_send_put_late(s->window, 1, bytes, BATCH_PUT_MOST, 0));
        puts++;
        f = hear(s);
    } while (!f.kind && puts < BATCH_ROOM);
    assert_int_equal(f.kind, FRAME_PUTS);
    assert_in_range(f.size, BATCH_ROOM - BATCH_PUT_MOST - 16, BATCH_ROOM);
    assert_true(hear_bytes(s, bytes, (size_t)f.size));
    assert_int_equal(atomic_load(&s->window->peers[1].puts), puts);
}

/* The other rank ends in the middle of a frame, while it owes a reply. */
static void test_peer_gone(void **state)
{
    struct scene *s = *state;
    const struct message_op op = {.size = sizeof(struct window_frame)};
    struct waiting waiting = {0};
    struct asked flush;
    struct message m;
    int rc;

    ask(s, &flush, (struct window_frame){.kind = FRAME_FLUSH}, NULL);
    message_fill(&m, &s->group->call, &op);
    bytes_write(s, &m, sizeof(m));
    bytes_write(s, "\1\0\0", 3);
    assert_int_equal(work(s), 0);
    close(s->fd);
    s->fd = -1;
    do
        rc = window_serve_step(s->window, &waiting);
    while (rc == 0);
    assert_int_equal(rc, ML_ERR_PEER);
    assert_true(flush.order.is_done);
    assert_int_equal(flush.why.code, ML_ERR_PEER);
    assert_non_null(strstr(flush.why.text, "rank 1 on host b"));
    expect_broken(s, ML_ERR_PEER, "rank 1 on host b");
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_puts),
        TEST(test_pieces),
        TEST(test_gets),
        TEST(test_numbers),
        TEST(test_batches),
        TEST(test_leaving),
        cmocka_unit_test(test_refused),
        TEST(test_too_much_asked),
        TEST(test_other_call),
        TEST(test_no_message),
        TEST(test_replies),
        TEST(test_wrong_reply),
        TEST(test_credits),
        TEST(test_late_puts),
        TEST(test_full_batch),
        TEST(test_peer_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
