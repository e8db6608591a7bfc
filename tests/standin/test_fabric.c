/* SPDX-License-Identifier: MIT */
/* test_fabric.c: the stand-in's network (rdma/standin/fabric): what contexts get from each other,
 * and what its control changes. Times are "at least", as machines are busy.
 * TEST_TIER=quick */
#include "common/clock.h"
#include "tests/standin/fabric_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PORT(host, device, file) host "/sys/class/infiniband/" device "/ports/1/" file

enum { HEADERS = 58, SEED = 7, LOSSES = 1000, BATCH = 1000, READ = 5000, MS = 1000000 };

static int begin(void **state)
{
    (void)state;
    network_begin(SEED);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return network_end(0);
}

/* --- what contexts send each other ------------------------------------------------------------ */

static void test_contexts(void **state)
{
    struct fabric_segment ab, ba;
    struct context *a, *b;
    uint32_t seen = 0;

    (void)state;
    contexts_meet(&a, &b);
    assert_int_equal(a->number, 1);
    assert_int_equal(b->number, 2);
    assert_string_equal(a->device.host, "a");
    assert_int_equal(a->device.max_inline, 512);
    assert_int_equal(a->device.ports[0].attr.state, IBV_PORT_ACTIVE);
    tell("delay a/r0:1 100s", "ok");
    put_free(b, a->number, 5);
    expect(a, FABRIC_FREE); /* which touches no wire */
    assert_int_equal(got.free.slot, 5);

    /* What a context has sent arrives after its end, and before all hear of that. What it is sent
     * by then is lost. */
    tell("delay a/r0:1 50ms", "ok");
    ab = segment_of(a, b), ba = segment_of(b, a);
    put_segment(b, &ba);
    put_free(b, a->number, 6);
    expect(a, FABRIC_FREE);
    context_close(b);
    put_segment(a, &ab);
    for (int i = 0; i < 3; i++) {
        receive(a->fd);
        assert_true(got.kind != FABRIC_GONE || seen & 1U << FABRIC_SEGMENT);
        seen |= 1U << got.kind;
    }
    assert_int_equal(seen, 1U << FABRIC_SEGMENT | 1U << FABRIC_GONE | 1U << FABRIC_LOST);
    expect_lost(a, &ab);
    b = context_open("b/dev/uverbs0.socket");
    assert_int_equal(b->number, 3); /* not 2 again, which others may still speak of */
}

static void test_infiniband(void **state)
{
    struct context *a = context_open("a/dev/uverbs2.socket");
    struct context *b = context_open("b/dev/uverbs1.socket");
    struct fabric_segment s = segment_of(a, b);

    (void)state;
    greet(a, b);
    s.to = (union ibv_gid){.raw = {0}};
    s.to_lid = 9;
    expect_passed(a, b, &s);
    assert_int_equal(got.segment.from_lid, 5);
    s.to_lid = 10;
    expect_lost(a, &s);
}

static void test_lost(void **state)
{
    struct context *a, *b, *c, *two;
    struct fabric_segment ab, s;

    (void)state;
    contexts_meet(&a, &b);
    two = context_open("a/dev/uverbs1.socket");
    c = context_open("c/dev/uverbs0.socket");
    ab = segment_of(a, b);
    s = ab, s.to.raw[0] = 7;
    expect_lost(a, &s); /* no such GID */
    s = segment_of(a, c);
    expect_lost(a, &s); /* one of another network */
    s = ab, s.to_qp = 77 << FABRIC_CONTEXT_SHIFT | 1;
    expect_lost(a, &s); /* no such context */
    s = ab, s.to_qp = two->number << FABRIC_CONTEXT_SHIFT | 1;
    expect_lost(a, &s); /* one of another device than the GID's */
    tell("oneway a/r0:1", "ok");
    expect_lost(a, &ab);
    s = segment_of(b, a);
    expect_passed(b, a, &s);
    flush(a);
    s = ab, s.type = FABRIC_ACK;
    expect_lost(a, &s);
    expect(b, FABRIC_LOST); /* both are told of a response */
    tell("bothways a/r0:1", "ok");
    expect_passed(a, b, &ab);
    tell("gone b", "ok");
    expect_lost(a, &ab);
    tell("back b", "ok");
    expect_passed(a, b, &ab); /* and nobody was told */
}

/* A context that does not read is sent segments as long as there is room; later ones are lost. */
static void test_full(void **state)
{
    struct fabric_segment ab;
    struct context *a, *b;
    uint32_t sent = 0, passed;
    ssize_t n = -1;

    (void)state;
    contexts_meet(&a, &b);
    ab = segment_of(a, b);
    while (n < 0) {
        for (int i = 0; i < BATCH; i++, sent++) {
            ab.psn = sent;
            put_segment(a, &ab);
        }
        n = recv(a->fd, &got, sizeof(got), MSG_DONTWAIT);
    }
    assert_int_equal(got.kind, FABRIC_LOST);
    passed = got.segment.psn;
    for (uint32_t i = passed + 1; i < sent; i++) {
        expect(a, FABRIC_LOST);
        assert_int_equal(got.segment.psn, i);
    }
    for (uint32_t i = 0; i < READ; i++) {
        expect(b, FABRIC_SEGMENT);
        assert_int_equal(got.segment.psn, i);
    }
    put_segment(a, &ab); /* for which there is room again */
    flush(a);
}

/* --- what the control changes ----------------------------------------------------------------- */

static void test_cables(void **state)
{
    struct context *a, *b, *c, *two;
    struct fabric_segment ab, s;

    (void)state;
    contexts_meet(&a, &b);
    ab = segment_of(a, b);
    tell("unplug a/r0:1", "ok");
    expect_event(a, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    expect_event(b, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    expect_file(PORT("b", "r0", "state"), "1: DOWN");
    expect_file(PORT("b", "r0", "phys_state"), "2: Polling");
    expect_lost(a, &ab);
    s = segment_of(a, a);
    expect_lost(a, &s);
    tell("plug b/r0:1", "ok");
    expect_event(a, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
    expect_event(b, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
    expect_file(PORT("b", "r0", "state"), "4: ACTIVE");
    tell("down b/r0:1", "ok");
    expect_event(b, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    expect_file(PORT("b", "r0", "phys_state"), "3: Disabled");
    expect_lost(a, &ab); /* its own port is as it was */
    tell("up b/r0:1", "ok");
    expect_event(b, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
    expect_passed(a, b, &ab);
    two = context_open("a/dev/uverbs1.socket");
    c = context_open("c/dev/uverbs0.socket");
    tell("unplug a/r1:1", "ok"); /* at a switch no other port is told */
    expect_event(two, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    s = segment_of(c, two);
    expect_lost(c, &s);
}

static void test_addresses(void **state)
{
    struct fabric_segment s;
    struct context *a, *b;

    (void)state;
    contexts_meet(&a, &b);
    tell("fatal a/r0", "ok");
    expect_event(a, IBV_EVENT_DEVICE_FATAL, IBV_PORT_ACTIVE);
    tell("gid a/r0:1 5 10.9.9.9", "ok");
    expect_event(a, IBV_EVENT_GID_CHANGE, IBV_PORT_ACTIVE);
    expect_file(PORT("a", "r0", "gids/5"), "0000:0000:0000:0000:0000:ffff:0a09:0909");
    expect_file(PORT("a", "r0", "gid_attrs/types/5"), "RoCE v2");
    expect_file(PORT("a", "r0", "gid_attrs/ndevs/5"), "lo");
    s = segment_of(b, a), s.to = got.news.port.gids[5];
    expect_passed(b, a, &s);
    tell("gid a/r0:1 5 ::", "ok");
    expect_event(a, IBV_EVENT_GID_CHANGE, IBV_PORT_ACTIVE);
    expect_file(PORT("a", "r0", "gid_attrs/types/5"), "");
    expect_lost(b, &s);
}

static void test_counters(void **state)
{
    struct fabric_segment ab, ba;
    struct context *a, *b;

    (void)state;
    contexts_meet(&a, &b); /* by one packet each way, and one from a to a */
    ab = segment_of(a, b), ab.length = 5000, ab.packets = 5;
    ba = segment_of(b, a);
    expect_passed(a, b, &ab);
    tell("loss a/r0:1 100%", "ok");
    expect_lost(a, &ab);
    tell("down b/r0:1", "ok");
    expect(b, FABRIC_PORT);
    expect_lost(b, &ba);
    tell("counters b/r0:1", "ok sent_bytes 158 sent_packets 1 received_bytes 5448 "
                            "received_packets 6 errors 5 discards 1 downs 1");
    expect_file(PORT("b", "r0", "counters/port_rcv_data"), "1362"); /* words of four bytes */
    expect_file(PORT("b", "r0", "counters/port_rcv_packets"), "6");
    expect_file(PORT("b", "r0", "counters/symbol_error"), "5");
    expect_file(PORT("b", "r0", "counters/port_xmit_discards"), "1");
    expect_file(PORT("b", "r0", "counters/link_downed"), "1");
    expect_file(PORT("a", "r0", "hw_counters/sent_pkts"), "12");
}

static void test_refused_commands(void **state)
{
    char line[2048];

    (void)state;
    tell("gid a/r0:1 0 ::2", "error: b/r0:1 has that GID already");
    tell("gid a/r0:1 16 ::5", "error: gid 16: what is allowed is an index from 0 to 15");
    tell("gid a/i0:1 1 10.0.0.1", "error: gid 10.0.0.1: what is allowed is an address");
    tell("", "error: unknown command ''; what is allowed is one of: unplug plug");
    tell("hop a", "error: unknown command hop");
    tell("down", "error: what is allowed is down HOST/DEVICE:PORT");
    tell("down a/r0:1 x y z", "error: what is allowed is down HOST/DEVICE:PORT");
    tell("down a/r0:2", "error: a/r0 has no port 2, only 1 to 1");
    tell("down a/x:1", "error: there is no device a/x");
    tell("down r0", "error: r0 is not HOST/DEVICE:PORT");
    tell("fatal a", "error: a is not HOST/DEVICE");
    tell("gone z", "error: there is no host z");
    tell("loss a/r0:1 101%", "error: loss 101%: what is allowed is a share");
    tell("delay a/r0:1 5", "error: delay 5: what is allowed is a number and ns");
    tell("rate a/r0:1 10", "error: rate 10: what is allowed is a number and bit");
    tell("mtu a/r0:1 1000", "error: mtu 1000: what is allowed is 256, 512");
    tell("mtu a/r0:1 8192", "error: mtu 8192: what is allowed is 256, 512");
    tell("longest a/r0:1 4097", "error: longest 4097: what is allowed is bytes");
    tell("longest a/r0:1 x", "error: longest x: what is allowed is bytes");
    tell("objects a", "error: a is not HOST/DEVICE");
    tell("mtu a/r0:1 1024", "ok");
    tell("longest a/r0:1 0", "ok");
    tell("objects a/r0", "ok");
    tell("up a/r0:1\r\nup b/r0:1", "ok"); /* two commands, */
    assert_int_equal(read(control_descriptor(), line, 3), 3);
    memset(line, 'x', sizeof(line));
    assert_int_equal(write(control_descriptor(), line, sizeof(line)), sizeof(line));
    assert_true(read(control_descriptor(), line, 1) <= 0); /* and none, as no line is so long */
}

/* --- time and chance -------------------------------------------------------------------------- */

static void test_delay(void **state)
{
    struct fabric_segment ab, ba, nowhere;
    struct context *a, *b;
    int64_t begun;

    (void)state;
    contexts_meet(&a, &b);
    ab = segment_of(a, b), ba = segment_of(b, a), nowhere = ab, nowhere.to.raw[0] = 7;
    tell("delay a/r0:1 50ms", "ok");
    begun = clock_ns();
    expect_passed(a, b, &ab);
    assert_true(clock_ns() - begun >= 50 * MS);
    expect_passed(b, a, &ba);
    assert_true(clock_ns() - begun >= 100 * MS);
    expect_lost(a, &nowhere);
    assert_true(clock_ns() - begun >= 150 * MS);

    /* The order is kept although the delay becomes shorter. */
    tell("delay a/r0:1 500ms", "ok");
    ab.psn = 1;
    put_segment(a, &ab);
    flush(a);
    tell("delay a/r0:1 0", "ok");
    ab.psn = 2;
    expect_passed(a, b, &ab);
    assert_int_equal(got.segment.psn, 1);
    expect(b, FABRIC_SEGMENT);
    assert_int_equal(got.segment.psn, 2);

    /* What is on its way when the cable is unplugged is lost, unless this test was so slow that it
     * has arrived before. */
    tell("delay a/r0:1 500ms", "ok");
    put_segment(a, &ab);
    flush(a);
    tell("unplug a/r0:1", "ok");
    expect_event(a, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    receive(b->fd);
    if (got.kind == FABRIC_PORT)
        expect(a, FABRIC_LOST);
    else
        assert_int_equal(got.kind, FABRIC_SEGMENT);
}

/* A port with a long delay holds up no other one that sends by the same switch. */
static void test_switch(void **state)
{
    struct context *two = context_open("a/dev/uverbs1.socket");
    struct context *c = context_open("c/dev/uverbs0.socket");
    struct fabric_segment s = segment_of(two, c);

    (void)state;
    greet(two, c);
    tell("delay a/r1:1 100s", "ok");
    put_segment(two, &s);
    s.port = 2;
    s.psn = 2;
    expect_passed(two, c, &s);
    assert_int_equal(got.segment.psn, 2);
}

/* Ten segments of a slot, from ports 1 and 2 by turns if `has_two`, at 100 Mb/s. */
static void expect_slow(const struct context *from, const struct context *to, bool has_two)
{
    struct fabric_segment s = segment_of(from, to);
    int64_t begun = clock_ns();

    s.length = FABRIC_SLOT_SIZE, s.packets = 16;
    for (int i = 0; i < 10; i++) {
        s.port = has_two && i % 2 ? 2 : 1;
        put_segment(from, &s);
    }
    for (int i = 0; i < 10; i++)
        expect(to, FABRIC_SEGMENT);
    assert_true(clock_ns() - begun >= 10LL * (FABRIC_SLOT_SIZE + 16 * HEADERS) * 8 * 10);
}

static void test_rate(void **state)
{
    struct context *a, *b, *c, *two;

    (void)state;
    contexts_meet(&a, &b);
    tell("rate a/r0:1 100mbit", "ok");
    expect_slow(a, b, false);
    two = context_open("a/dev/uverbs1.socket");
    c = context_open("c/dev/uverbs0.socket");
    greet(two, c);
    tell("rate c/r0:1 100mbit", "ok");
    expect_slow(two, c, true); /* both ports share the switch's wire to c */
}

/* Which of many segments are lost, as a string. */
static void losses_see(int seed, char lost[LOSSES + 1])
{
    struct fabric_segment ab;
    struct context *a, *b;

    network_begin(seed);
    contexts_meet(&a, &b);
    tell("loss a/r0:1 10%", "ok");
    ab = segment_of(a, b);
    memset(lost, '-', LOSSES);
    lost[LOSSES] = '\0';
    for (ab.psn = 0; ab.psn < LOSSES; ab.psn++)
        put_segment(a, &ab);
    ab = segment_of(a, a);
    put_segment(a, &ab);
    while (receive(a->fd) > 0 && got.kind == FABRIC_LOST)
        lost[got.segment.psn] = 'x';
    assert_int_equal(got.kind, FABRIC_SEGMENT);
    assert_int_equal(network_end(SIGTERM), 0);
}

static void test_loss(void **state)
{
    char first[LOSSES + 1], again[LOSSES + 1], other[LOSSES + 1];

    (void)state;
    losses_see(1, first);
    losses_see(1, again);
    losses_see(2, other);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_contexts),
        TEST(test_infiniband),
        TEST(test_lost),
        TEST(test_full),
        TEST(test_cables),
        TEST(test_addresses),
        TEST(test_counters),
        TEST(test_delay),
        TEST(test_switch),
        TEST(test_rate),
        cmocka_unit_test(test_loss),
        TEST(test_refused_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
