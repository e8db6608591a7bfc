/* SPDX-License-Identifier: MIT */
/*
 * test_uplink_gather.c: what several hosts get leaves once, with their numbers; each host's bytes
 * stay whole and in order, also where hosts get different ones; and what a host takes for such a
 * frame.
 */
#include "launcher/wire/uplink/stream/uplink_gather.h"

#include "common/clock.h"
#include "launcher/wire/uplink/stream/uplink_many.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

/* Fan-out 2: below host 0 are 2 and 3, and below these 6 to 9. */
enum { CHILD = 0, HOSTS = 400, RUN = 1, PATIENCE_MS = 30000, BIG = 20000 };

static const struct uplink_tree tree = {2, 0, HOSTS};
static struct event_base *base;
static struct uplink_stream *head, *host;
static struct uplink_gather *gather;
static char told[4096];     /* what has come, as words */
static char got[HOSTS][64]; /* and by host, how it begins */
static size_t sizes[HOSTS]; /* and how much it is */
static size_t wire;         /* bytes of all frames */

#define LOOP_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int64_t until_ = clock_ms() + PATIENCE_MS;                                                 \
                                                                                                   \
        while (!(condition)) {                                                                     \
            if (clock_ms() > until_)                                                               \
                fail_msg("never: %s (what came: %s)", #condition, told);                           \
            event_base_loop(base, EVLOOP_NONBLOCK);                                                \
        }                                                                                          \
    } while (0)

static void bytes_take(int of, const uint8_t *bytes, size_t size)
{
    size_t used = strlen(got[of]);

    snprintf(got[of] + used, sizeof(got[of]) - used, "%.*s", (int)size, (const char *)bytes);
    sizes[of] += size;
}

static void data_take(int of, const struct frame *f)
{
    const uint8_t *bytes;
    uint32_t run;
    size_t size, used = strlen(told);

    if (f->type == UPLINK_DATA) {
        assert_true(uplink_stream_word(f, &run, &bytes, &size));
        bytes_take(of, bytes, size);
    }
    snprintf(told + used, sizeof(told) - used, "%d to %d; ", f->type, of);
}

static void many_take(const struct frame *f)
{
    size_t used = strlen(told);
    struct uplink_many m;

    assert_true(uplink_many_take(&m, f, HOSTS));
    assert_int_equal(m.run, RUN);
    for (int i = 0; i < HOSTS; i++)
        if (uplink_many_has(&m, i) && uplink_tree_is_within(&tree, CHILD, i))
            bytes_take(i, m.bytes, m.size);
    snprintf(told + used, sizeof(told) - used, "many");
    for (int i = 0; i < m.count && i < 4; i++) {
        used = strlen(told);
        snprintf(told + used, sizeof(told) - used, " %d-%d", m.ranges[i].first, m.ranges[i].last);
    }
    used = strlen(told);
    snprintf(told + used, sizeof(told) - used, "; ");
}

static void on_frame(const struct frame *f, void *arg)
{
    struct frame inner;
    uint32_t to;

    (void)arg;
    wire += FRAME_HEADER + f->size;
    if (f->type == UPLINK_MANY) {
        many_take(f);
    } else if (f->type == UPLINK_ROUTED) {
        assert_true(uplink_route_take(f, &to, &inner));
        data_take((int)to, &inner);
    } else {
        data_take(CHILD, f);
    }
}

static void on_end(const char *why, void *arg)
{
    (void)arg;
    fail_msg("%s", why);
}

static int set_up(void **state)
{
    const struct auth_keys keys[] = {{{1}, {2}}, {{2}, {1}}};
    const struct uplink_stream_events events = {on_frame, on_end, NULL, NULL};
    struct fault why;
    int pair[2];

    (void)state;
    told[0] = '\0';
    memset(got, 0, sizeof(got));
    memset(sizes, 0, sizeof(sizes));
    wire = 0;
    base = event_base_new();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) ||
        uplink_stream_open(&head, base, pair[0], &keys[0], &events, &why) ||
        uplink_stream_open(&host, base, pair[1], &keys[1], &events, &why))
        return -1;
    return uplink_gather_open(&gather, base, head, &tree, CHILD, &why);
}

static int tear_down(void **state)
{
    (void)state;
    uplink_gather_close(gather);
    uplink_stream_close(head);
    uplink_stream_close(host);
    event_base_free(base);
    return 0;
}

static void add(int to, const char *text)
{
    uplink_gather_add(gather, to, RUN, text, strlen(text));
}

/* A last frame, behind which nothing more comes. */
static void expect(const char *frames)
{
    event_base_loop(base, EVLOOP_NONBLOCK); /* the turn in which all was added */
    uplink_stream_send(head, UPLINK_SHUT, NULL, 0);
    LOOP_UNTIL(strstr(told, "21 to 0; "));
    *strstr(told, "21 to 0; ") = '\0';
    if (strcmp(told, frames) != 0)
        fail_msg("%s instead of %s", told, frames);
    told[0] = '\0';
}

/* --- what the head sends ---------------------------------------------------------------------- */

static void test_alike(void **state)
{
    (void)state;
    for (int i = 9; i >= 0; i--)
        if (uplink_tree_is_within(&tree, CHILD, i))
            add(i, "stop");
    expect("many 0-9; ");
    for (int i = 0; i < 10; i++)
        assert_string_equal(got[i], uplink_tree_is_within(&tree, CHILD, i) ? "stop" : "");
}

static void test_some(void **state)
{
    (void)state;
    add(2, "stop");
    expect("20 to 2; ");
    add(CHILD, "stop");
    expect("20 to 0; ");
    add(CHILD, "stop");
    add(3, "stop"); /* not host 2 */
    add(6, "stop");
    expect("many 0-0 3-6; ");
}

/* Ranges that do not fit into one frame. */
static void test_every_other(void **state)
{
    bool is_wanted = true;

    (void)state;
    for (int i = 0; i < HOSTS; i++) {
        if (!uplink_tree_is_within(&tree, CHILD, i))
            continue;
        if (is_wanted)
            add(i, "stop");
        is_wanted = !is_wanted;
    }
    expect("many 0-0 3-3 7-7 9-9; many 255-255 257-257 259-259 261-261; ");
    is_wanted = true;
    for (int i = 0; i < HOSTS; i++) {
        if (!uplink_tree_is_within(&tree, CHILD, i))
            continue;
        assert_string_equal(got[i], is_wanted ? "stop" : "");
        is_wanted = !is_wanted;
    }
}

static void test_different(void **state)
{
    (void)state;
    add(2, "stop");
    add(3, "stop");
    add(6, "kill");
    add(7, "kill too");
    add(8, "stop");
    expect("many 2-3; 20 to 6; 20 to 7; 20 to 8; ");
    assert_string_equal(got[7], "kill too");
}

/* The last has the shorter beginning, so the others have more that is theirs. */
static void test_same_beginning(void **state)
{
    char text[4][200];

    (void)state;
    for (int i = 0; i < 4; i++)
        memset(text[i], 'a', sizeof(text[i]));
    snprintf(text[0] + 100, 100, "zero");
    snprintf(text[1] + 100, 100, "zero and more");
    snprintf(text[2] + 100, 100, "zero");
    snprintf(text[3] + 70, 130, "three");
    for (int i = 0; i < 4; i++)
        add(6 + i, text[i]);
    expect("many 6-9; 20 to 6; 20 to 7; 20 to 8; 20 to 9; ");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sizes[6 + i], strlen(text[i]));
        assert_memory_equal(got[6 + i], text[i], 63);
    }
    assert_true(wire < 70 + 4 * 80);
    /* A beginning that is too short is not worth it. */
    add(2, "aaaa-");
    add(3, "aaaa+");
    expect("20 to 2; 20 to 3; ");
}

static void test_order(void **state)
{
    (void)state;
    add(2, "a");
    add(3, "a");
    add(2, "b");
    add(3, "b");
    uplink_gather_add(gather, 2, RUN, "c", 1);
    uplink_stream_send_tagged(head, UPLINK_CLOSE, RUN, NULL, 0);
    add(2, "d");
    expect("many 2-3; many 2-3; 20 to 2; 23 to 0; 20 to 2; ");
    assert_string_equal(got[2], "abcd");
    assert_string_equal(got[3], "ab");
}

static void test_runs(void **state)
{
    (void)state;
    add(2, "a");
    uplink_gather_add(gather, 3, RUN + 1, "a", 1);
    expect("20 to 2; 20 to 3; ");
}

/* What is held stays below a bound, whatever comes in one turn. */
static void test_much(void **state)
{
    static char bytes[BIG];
    int count = 0;

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    for (int i = 0; i < HOSTS; i++) {
        if (!uplink_tree_is_within(&tree, CHILD, i))
            continue;
        bytes[BIG / 2] = (char)('0' + count++ % 2);
        uplink_gather_add(gather, i, RUN, bytes, sizeof(bytes));
        if (count == 60)
            break;
    }
    assert_true(uplink_stream_kept(head) > 30 * BIG / 2);
    told[0] = '\0';
    event_base_loop(base, EVLOOP_NONBLOCK);
    uplink_stream_send(head, UPLINK_SHUT, NULL, 0);
    LOOP_UNTIL(strstr(told, "21 to 0; "));
    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(sizes[i], uplink_tree_is_within(&tree, CHILD, i) && count-- > 0 ? BIG : 0);
}

/* --- what a host takes ------------------------------------------------------------------------ */

static bool is_taken(const uint32_t *words, size_t count)
{
    uint32_t packed[8];
    struct uplink_many m;
    struct frame f = {UPLINK_MANY, (uint32_t)(count * sizeof(*words)), (uint8_t *)packed};

    for (size_t i = 0; i < count; i++)
        packed[i] = htonl(words[i]);
    return uplink_many_take(&m, &f, HOSTS);
}

static void test_malformed(void **state)
{
    (void)state;
    assert_true(is_taken((const uint32_t[]){1, 1, 3, 3}, 4));
    assert_true(is_taken((const uint32_t[]){1, 2, 3, 3, 4, HOSTS - 1, 0}, 7));
    assert_false(is_taken((const uint32_t[]){1}, 1));
    assert_false(is_taken((const uint32_t[]){1, 0, 3, 3}, 4));
    assert_false(is_taken((const uint32_t[]){1, 2, 3, 3}, 4));
    assert_false(is_taken((const uint32_t[]){1, UINT32_MAX, 3, 3}, 4));
    assert_false(is_taken((const uint32_t[]){1, UPLINK_RANGES_MOST + 1, 3, 3}, 4));
    assert_false(is_taken((const uint32_t[]){1, 1, 3, 2}, 4));
    assert_false(is_taken((const uint32_t[]){1, 1, 3, HOSTS}, 4));
    assert_false(is_taken((const uint32_t[]){1, 1, UINT32_MAX, UINT32_MAX}, 4));
    assert_false(is_taken((const uint32_t[]){1, 2, 3, 5, 5, 6}, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_some, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_different, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_beginning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_much, set_up, tear_down),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
