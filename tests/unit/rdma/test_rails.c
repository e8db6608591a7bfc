/* SPDX-License-Identifier: MIT */
/*
 * test_rails.c: rails over devices with several ports, and the errors if two ends do not fit. The
 * verbs are mocks (mock_verbs.h), because a Soft-RoCE device has one port and no InfiniBand, and
 * wrong cables are found before a job starts.
 */
#include "rdma/endpoint.h"
#include "rdma/rail.h"
#include "rdma/verbs/device.h"
#include "rdma/verbs/region.h"
#include "tests/unit/rdma/mock_verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { ETHERNET = IBV_LINK_LAYER_ETHERNET, INFINIBAND = IBV_LINK_LAYER_INFINIBAND };
#define PORT(layer, mtu, gid)                                                                      \
    {                                                                                              \
        IBV_PORT_ACTIVE, layer, mtu, gid                                                           \
    }
static struct mock_device devices[6];
enum { M, N, O, IB, BARE };

static int setup(void **state)
{
    static const struct mock_device fresh[] = {
        [M] = {"m",
               {PORT(ETHERNET, IBV_MTU_4096, "::ffff:10.1.0.1"),
                PORT(ETHERNET, IBV_MTU_1024, "::ffff:10.2.0.1")},
               MOCK_ALL},
        [N] = {"n",
               {PORT(ETHERNET, IBV_MTU_4096, "::ffff:10.1.0.2"),
                PORT(ETHERNET, IBV_MTU_4096, "::ffff:10.2.0.2")},
               MOCK_ALL},
        [O] = {"o",
               {PORT(ETHERNET, IBV_MTU_4096, "::ffff:10.1.0.3"),
                PORT(ETHERNET, IBV_MTU_4096, "::ffff:10.2.0.3")},
               MOCK_NO_RC},
        [IB] = {"ib",
                {PORT(INFINIBAND, IBV_MTU_4096, "fe80::1:0:0:1"),
                 PORT(INFINIBAND, IBV_MTU_2048, "fe80::1:0:0:2")},
                MOCK_ALL},
        [BARE] = {"bare",
                  {PORT(ETHERNET, IBV_MTU_4096, "fe80::9"),
                   PORT(ETHERNET, IBV_MTU_4096, "fe80::8")},
                  MOCK_ALL},
    };

    (void)state;
    memcpy(devices, fresh, sizeof(fresh));
    mock_verbs_begin(devices);
    return 0;
}

static struct rail_config config_of(const char *device)
{
    return (struct rail_config){
        .device = device, .peer = "rank 1 on host b", .choice.gid_index = -1};
}

static struct rail *rail_of(const char *device)
{
    struct rail_config c = config_of(device);
    struct fault why;
    struct rail *r;

    if (rail_open(&r, &c, &why))
        fail_msg("%s", why.text);
    return r;
}

/* Expects that connecting the first end to the second fails with that sentence. */
static void assert_apart(struct rail *mine, struct rail *theirs, int code, const char *text)
{
    struct rail_end end;
    struct fault why;

    rail_publish(theirs, &end);
    assert_int_equal(rail_connect(mine, &end, true, &why), code);
    assert_string_equal(why.text, text);
    rail_close(mine);
    rail_close(theirs);
}

/* --- two ends that don't fit ------------------------------------------------------------------ */

static void test_no_address_in_common(void **state)
{
    struct rail_config c = config_of("m:1");
    struct fault why;
    struct rail *r;

    (void)state;
    assert_apart(rail_of("m:1"), rail_of("bare:2"), ML_ERR_LINK,
                 "m port 1 and rank 1 on host b's bare port 2 have no RoCE addresses in common: "
                 "give their network devices IPv4 addresses in one subnet");
    c.choice.gid_index = 7;
    assert_int_equal(rail_open(&r, &c, &why), 0);
    assert_apart(
        r, rail_of("n:1"), ML_ERR_LINK,
        "m port 1: GID index 7 does not exist, or does not fit the GIDs of rank 1 on host b's n "
        "port 1; see `mlaunch-probe`");
}

static void test_kinds_of_link(void **state)
{
    (void)state;
    assert_apart(rail_of("m:2"), rail_of("ib:1"), ML_ERR_LINK,
                 "m port 2 is Ethernet, and rank 1 on host b's ib port 1 is InfiniBand: the "
                 "hostfile's wiring can't be right");
    assert_apart(rail_of("ib:1"), rail_of("m:2"), ML_ERR_LINK,
                 "ib port 1 is InfiniBand, and rank 1 on host b's m port 2 is Ethernet: the "
                 "hostfile's wiring can't be right");
}

static void test_kinds_of_connection(void **state)
{
    (void)state;
    assert_apart(rail_of("m:1"), rail_of("o:1"), ML_ERR_LINK,
                 "m port 1 offers reliable connections (RC), but rank 1 on host b's o port 1 only "
                 "unreliable ones (UC): --qp uc, if both have them");
    assert_apart(
        rail_of("o:1"), rail_of("m:1"), ML_ERR_LINK,
        "o port 1 offers only unreliable connections (UC), but rank 1 on host b's m port 1 "
        "reliable ones (RC): --qp uc, if both have them");
}

static void test_mtu(void **state)
{
    struct rail_config c = config_of("m:2");
    struct rail *r = NULL;
    struct fault why;

    (void)state;
    c.choice.mtu = 2048;
    assert_int_equal(rail_open(&r, &c, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "m port 2 has an active MTU of 1024, so --mtu 2048 is too much");
    assert_null(r);
    c.choice.mtu = 1024;
    assert_int_equal(rail_open(&r, &c, &why), 0);
    assert_int_equal(r->fit.mtu, IBV_MTU_1024);
    rail_close(r);
    c.device = "m:1";
    assert_int_equal(rail_open(&r, &c, &why), 0);
    assert_int_equal(r->fit.mtu, IBV_MTU_1024);
    rail_close(r);
}

static void test_damaged(void **state)
{
    struct rail *mine = rail_of("m:1"), *theirs = rail_of("n:1");
    struct rail_end end;
    struct fault why;

    (void)state;
    rail_publish(theirs, &end);
    for (int i = 0; i < 2; i++) {
        end.gid_count = i ? -1 : GID_MOST + 1;
        assert_int_equal(rail_connect(mine, &end, true, &why), ML_ERR_REFUSED);
        assert_string_equal(why.text,
                            "the description that rank 1 on host b sent of its n is damaged");
    }
    rail_close(mine);
    rail_close(theirs);
}

/* --- endpoints over rails --------------------------------------------------------------------- */

struct side {
    const char *devices[2];
    int rank, peer;
    const char *name;
    uint64_t tag;
    bool may_lack;
    const char *near;
};

static struct endpoint *endpoint_of(const struct side *s)
{
    struct endpoint_config c = {.devices = s->devices,
                                .device_count = s->devices[1] ? 2 : 1,
                                .choice = {.gid_index = -1, .near = s->near},
                                .tag = s->tag,
                                .rank = s->rank,
                                .peer = s->peer,
                                .may_lack = s->may_lack,
                                .peer_name = s->name};
    struct endpoint *e;
    struct fault why;

    if (endpoint_open(&e, &c, &why))
        fail_msg("%s", why.text);
    return e;
}

/* The mock never returns receives that were posted. A rail that is dropped would wait 2 s for
 * them. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)fds, (void)count, (void)timeout_ms;
    return 0;
}

static void connect_to(struct endpoint *mine, struct endpoint *theirs)
{
    struct fault why;
    size_t size;
    const void *bytes = endpoint_publish(theirs, &size);

    if (endpoint_connect(mine, bytes, size, &why))
        fail_msg("%s", why.text);
}

static void assert_checked(struct endpoint *a, struct endpoint *b)
{
    bool done_a = false, done_b = false;
    struct fault why;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(endpoint_check(a, &done_a, &why), 0);
        assert_int_equal(endpoint_check(b, &done_b, &why), 0);
    }
    assert_true(done_a && done_b);
}

/* How the queue pair of the endpoint's i-th published rail was connected. */
static const struct ibv_qp_attr *path_of(struct endpoint *e, size_t rail)
{
    size_t size;
    struct rail_end end;
    const unsigned char *ends = endpoint_publish(e, &size);

    assert_true((rail + 1) * sizeof(end) <= size);
    memcpy(&end, ends + rail * sizeof(end), sizeof(end));
    return mock_verbs_path(end.pair.number);
}

/* Expects a connection from that port of its device to the port with that address. */
static void assert_path(const struct ibv_qp_attr *path, int port, const char *address)
{
    uint8_t gid[16];

    assert_int_equal(path->port_num, port);
    assert_int_equal(path->ah_attr.port_num, port);
    assert_int_equal(path->ah_attr.grh.sgid_index, port); /* as in the mock */
    assert_int_equal(inet_pton(AF_INET6, address, gid), 1);
    assert_memory_equal(path->ah_attr.grh.dgid.raw, gid, sizeof(gid));
}

/* Two rails over the two ports of a device; the other end lists them in another order. */
static void test_ports_to_one_peer(void **state)
{
    struct endpoint *a =
        endpoint_of(&(struct side){{"m:1", "m:2"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *b =
        endpoint_of(&(struct side){{"n:2", "n:1"}, 1, 0, "rank 0 on host a", 5, false, NULL});

    (void)state;
    connect_to(a, b);
    connect_to(b, a);
    assert_path(path_of(a, 0), 1, "::ffff:10.1.0.2");
    assert_path(path_of(a, 1), 2, "::ffff:10.2.0.2");
    assert_path(path_of(b, 0), 2, "::ffff:10.2.0.1");
    assert_path(path_of(b, 1), 1, "::ffff:10.1.0.1");
    assert_int_equal(path_of(b, 1)->path_mtu, IBV_MTU_4096);
    assert_int_equal(path_of(b, 0)->path_mtu, IBV_MTU_1024); /* the smaller of both */
    assert_checked(a, b);
    endpoint_close(a);
    endpoint_close(b);
}

static void test_ports_to_two_peers(void **state)
{
    struct endpoint *to_b =
        endpoint_of(&(struct side){{"m:1"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *to_c =
        endpoint_of(&(struct side){{"m:2"}, 0, 2, "rank 2 on host c", 5, false, NULL});
    struct endpoint *b =
        endpoint_of(&(struct side){{"n"}, 1, 0, "rank 0 on host a", 5, false, NULL});
    struct endpoint *c =
        endpoint_of(&(struct side){{"n:2"}, 2, 0, "rank 0 on host a", 5, false, NULL});

    (void)state;
    connect_to(to_b, b);
    connect_to(b, to_b);
    connect_to(to_c, c);
    connect_to(c, to_c);
    assert_path(path_of(to_b, 0), 1, "::ffff:10.1.0.2");
    assert_path(path_of(to_c, 0), 2, "::ffff:10.2.0.2");
    assert_checked(to_b, b);
    assert_checked(to_c, c);
    endpoint_close(to_b);
    endpoint_close(to_c);
    endpoint_close(b);
    endpoint_close(c);
}

/* An event of one port of a device does not concern the other port. */
static void test_port_goes_down(void **state)
{
    struct endpoint *a =
        endpoint_of(&(struct side){{"m:1", "m:2"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *b =
        endpoint_of(&(struct side){{"n:1", "n:2"}, 1, 0, "rank 0 on host a", 5, false, NULL});
    const struct fault *why;
    int left;

    (void)state;
    connect_to(a, b);
    connect_to(b, a);
    assert_checked(a, b);
    assert_null(endpoint_dropped(a, &left));
    mock_verbs_event("m", IBV_EVENT_PORT_ERR, 2);
    endpoint_wake(a);
    endpoint_poll(a);
    assert_null(endpoint_failed(a));
    why = endpoint_dropped(a, &left);
    assert_non_null(why);
    assert_string_equal(why->text, "m port 2, the link to rank 1 on host b, has gone down: look at "
                                   "its cable and its network device (ip link)");
    assert_int_equal(left, 1);
    assert_null(endpoint_dropped(a, &left));
    mock_verbs_event("m", IBV_EVENT_PORT_ERR, 1);
    endpoint_wake(a);
    endpoint_poll(a);
    why = endpoint_failed(a);
    assert_non_null(why);
    assert_non_null(strstr(why->text, "m port 1, the link to rank 1 on host b, has gone down"));
    endpoint_close(a);
    endpoint_close(b);
}

/* Sends two chunks; returns how many of them go over another device than n. */
static int sent_over_m(struct endpoint *e)
{
    int before = mock_verbs_writes();
    size_t room;

    mock_verbs_hold("n");
    for (int i = 0; i < 2; i++) {
        assert_non_null(endpoint_slot(e, &room));
        endpoint_send(e, 1);
    }
    before = mock_verbs_writes() - before;
    mock_verbs_release("n");
    return before;
}

/* The rails with the most ends near a GPU are used; the others if these fail. */
static void test_near_gpus(void **state)
{
    static const struct {
        const char *here, *there;
        int over_m;
    } table[] = {
        {NULL, NULL, 1}, {"m", NULL, 2},    {"n", NULL, 0}, {NULL, "n", 2},
        {NULL, "m", 0},  {"m", "n", 2},     {"m", "m", 1},  {"m,n", "m", 0},
        {"mm", "", 1},   {"o,n", "x,m", 0}, {"m,n", "", 1}, {"mlx5_0", NULL, 1},
    };
    struct endpoint *a, *b;
    const struct fault *why;
    int left;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        a = endpoint_of(
            &(struct side){{"m:1", "n:2"}, 0, 1, "rank 1 on host b", 5, i % 2, table[i].here});
        b = endpoint_of(
            &(struct side){{"n:1", "m:2"}, 1, 0, "rank 0 on host a", 5, i % 2, table[i].there});
        connect_to(a, b);
        connect_to(b, a);
        if (i % 2) {
            assert_int_equal(endpoint_agree(a, 3, &(struct fault){0}), 0);
            assert_int_equal(endpoint_agree(b, 3, &(struct fault){0}), 0);
        }
        assert_checked(a, b);
        left = sent_over_m(a);
        if (left != table[i].over_m)
            fail_msg("%d: %d", (int)i, left);
        endpoint_close(a);
        endpoint_close(b);
    }
    a = endpoint_of(&(struct side){{"m:1", "n:2"}, 0, 1, "rank 1 on host b", 5, false, "m"});
    b = endpoint_of(&(struct side){{"n:1", "m:2"}, 1, 0, "rank 0 on host a", 5, false, "n"});
    connect_to(a, b);
    connect_to(b, a);
    assert_checked(a, b);
    assert_int_equal(sent_over_m(a), 2);
    mock_verbs_event("m", IBV_EVENT_PORT_ERR, 1);
    endpoint_wake(a);
    endpoint_poll(a);
    assert_null(endpoint_failed(a));
    why = endpoint_dropped(a, &left);
    assert_non_null(why);
    assert_int_equal(left, 1);
    endpoint_close(a);
    endpoint_close(b);
}

/* --- rails that are missing at the first message --------------------------------------------- */

/* Both ends, in the order in which ranks list their devices; what both have connected is in use. */
static void open_both(struct endpoint **a, struct endpoint **b)
{
    *a = endpoint_of(&(struct side){{"m:1", "m:2"}, 0, 1, "rank 1 on host b", 5, true, NULL});
    *b = endpoint_of(&(struct side){{"n:2", "n:1"}, 1, 0, "rank 0 on host a", 5, true, NULL});
    connect_to(*a, *b);
    connect_to(*b, *a);
}

static void agree(struct endpoint *a, struct endpoint *b)
{
    uint32_t of_a = endpoint_connected(a), of_b = endpoint_connected(b);
    struct fault why;

    assert_int_equal(endpoint_agree(a, of_b, &why), 0);
    assert_int_equal(endpoint_agree(b, of_a, &why), 0);
}

static void assert_dropped(struct endpoint *e, int left, const char *text)
{
    int is_left;
    const struct fault *why = endpoint_dropped(e, &is_left);

    assert_non_null(why);
    assert_string_equal(why->text, text);
    assert_int_equal(is_left, left);
    assert_null(endpoint_dropped(e, &is_left));
}

static void test_all_are_there(void **state)
{
    struct endpoint *a, *b;
    int left;

    (void)state;
    open_both(&a, &b);
    assert_int_equal(endpoint_connected(a), 3);
    assert_int_equal(endpoint_connected(b), 3);
    agree(a, b);
    assert_checked(a, b);
    assert_null(endpoint_dropped(a, &left));
    assert_null(endpoint_dropped(b, &left));
    endpoint_close(a);
    endpoint_close(b);
}

/* The other end says nothing of it; the order of what is left is that of the lower rank. */
static void test_port_is_down(void **state)
{
    struct endpoint *a, *b;
    int left;

    (void)state;
    devices[M].ports[0].state = IBV_PORT_DOWN;
    open_both(&a, &b);
    assert_int_equal(endpoint_connected(a), 2);
    assert_int_equal(endpoint_connected(b), 2);
    agree(a, b);
    assert_checked(a, b);
    assert_path(path_of(b, 0), 2, "::ffff:10.2.0.1");
    assert_dropped(a, 1,
                   "m port 1 is down: check its cable and its network device (rdma link, ip "
                   "link)");
    assert_null(endpoint_dropped(b, &left));
    endpoint_close(a);
    endpoint_close(b);
}

static void test_all_ports_are_down(void **state)
{
    const char *names[] = {"m:1", "m:2"};
    struct endpoint_config c = {
        .devices = names, .device_count = 2, .may_lack = true, .peer_name = "rank 1 on host b"};
    struct endpoint *e;
    struct fault why;

    (void)state;
    devices[M].ports[0].state = devices[M].ports[1].state = IBV_PORT_DOWN;
    c.choice.gid_index = -1;
    assert_int_equal(endpoint_open(&e, &c, &why), ML_ERR_LINK);
    assert_non_null(strstr(why.text, "m port 2 is down"));
}

/* Each end has one, but of another pair. */
static void test_none_at_both_ends(void **state)
{
    struct endpoint *a, *b;
    struct fault why;
    size_t size;
    const void *ends;

    (void)state;
    devices[M].ports[0].state = devices[N].ports[1].state = IBV_PORT_DOWN;
    a = endpoint_of(&(struct side){{"m:1", "m:2"}, 0, 1, "rank 1 on host b", 5, true, NULL});
    b = endpoint_of(&(struct side){{"n:1", "n:2"}, 1, 0, "rank 0 on host a", 5, true, NULL});
    ends = endpoint_publish(b, &size);
    assert_int_equal(endpoint_connect(a, ends, size, &why), ML_ERR_LINK);
    assert_non_null(strstr(why.text, "m port 1 is down"));
    endpoint_close(a);
    endpoint_close(b);
}

/* What the peer says of its rails is not trusted. */
static void test_damaged_agreement(void **state)
{
    static const struct {
        uint32_t peers;
        int code;
    } of[] = {{0, ML_ERR_REFUSED}, {4, ML_ERR_REFUSED}, {0x80000001, ML_ERR_REFUSED}};
    struct endpoint *a, *b;
    struct fault why;

    (void)state;
    open_both(&a, &b);
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
        assert_int_equal(endpoint_agree(a, of[i].peers, &why), of[i].code);
    assert_string_equal(why.text,
                        "rank 1 on host b has connected devices that it does not have, or none");
    endpoint_close(a);
    endpoint_close(b);
}

/* A port goes down while the checks are under way: both drop its rail, and the check that was lost
 * with it is sent again. */
static void test_fails_during_check(void **state)
{
    struct rail_control control;
    struct endpoint *a, *b;
    bool done_a = false, done_b = false;
    struct fault why;
    int left;

    (void)state;
    open_both(&a, &b);
    agree(a, b);
    mock_verbs_hold("m");
    assert_int_equal(endpoint_check(a, &done_a, &why), 0);
    assert_int_equal(endpoint_check(b, &done_b, &why), 0);
    mock_verbs_event("m", IBV_EVENT_PORT_ERR, 1);
    endpoint_wake(a);
    endpoint_poll(a);
    assert_non_null(endpoint_dropped(a, &left));
    assert_int_equal(left, 1);
    mock_verbs_release("m");
    assert_int_equal(endpoint_check(b, &done_b, &why), 0);
    assert_false(done_b); /* the first check was lost */
    while (endpoint_control_next(a, &control))
        assert_int_equal(endpoint_control_take(b, &control, &why), 0);
    while (endpoint_control_next(b, &control))
        assert_int_equal(endpoint_control_take(a, &control, &why), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(endpoint_check(a, &done_a, &why), 0);
        assert_int_equal(endpoint_check(b, &done_b, &why), 0);
    }
    assert_true(done_a && done_b);
    assert_null(endpoint_failed(a));
    endpoint_close(a);
    endpoint_close(b);
}

/* Takes the bytes that have come; returns how many, all of which are right. */
static size_t taken(struct endpoint *e, const char *expected)
{
    const void *chunk;
    size_t size, all = 0;
    bool is_direct;

    endpoint_poll(e);
    while ((chunk = endpoint_chunk(e, &size, &is_direct))) {
        assert_false(is_direct);
        assert_memory_equal(chunk, expected + all, size);
        all += size;
        endpoint_release(e);
    }
    return all;
}

static void exchange_controls(struct endpoint *a, struct endpoint *b)
{
    struct rail_control control;
    struct fault why;

    while (endpoint_control_next(a, &control))
        assert_int_equal(endpoint_control_take(b, &control, &why), 0);
    while (endpoint_control_next(b, &control))
        assert_int_equal(endpoint_control_take(a, &control, &why), 0);
}

/* A rail fails while its device reads a message: what it had of it is read over the other rail, by
 * the device too, because the processor can't read a GPU's memory. */
static void test_gpu_memory_is_sent_again(void **state)
{
    static char expected[ENDPOINT_LONG];
    const struct region_gpu gpu = {.dmabuf = -1, .refusal = "none"};
    char *at =
        mmap(NULL, ENDPOINT_LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    enum region_way way;
    struct fault why = {0};
    struct endpoint *a, *b;
    size_t sent = 0;

    (void)state;
    assert_true(at != MAP_FAILED);
    for (size_t i = 0; i < ENDPOINT_LONG; i++)
        expected[i] = at[i] = (char)(i * 31 >> 8);
    assert_true(region_add_gpu(at, ENDPOINT_LONG, &gpu));
    open_both(&a, &b);
    agree(a, b);
    assert_checked(a, b);
    assert_true(endpoint_reaches(a, at, ENDPOINT_LONG, true, &way, &why));
    assert_int_equal(way, REGION_PEERMEM);
    assert_int_equal(mprotect(at, ENDPOINT_LONG, PROT_NONE), 0);
    mock_verbs_hold("m");
    assert_true(endpoint_begin(a, 0, at, ENDPOINT_LONG));
    while (sent < ENDPOINT_LONG)
        sent += endpoint_part(a, sent);
    mock_verbs_event("m", IBV_EVENT_PORT_ERR, 1);
    endpoint_wake(a);
    endpoint_poll(a);
    exchange_controls(a, b);
    endpoint_poll(a);
    assert_false(endpoint_has_read(a, endpoint_mark(a)));
    assert_int_equal(mprotect(at, ENDPOINT_LONG, PROT_READ), 0); /* for the mock */
    mock_verbs_release("m");
    assert_true(endpoint_has_read(a, endpoint_mark(a)));
    assert_int_equal(taken(b, expected), ENDPOINT_LONG);
    endpoint_close(a);
    endpoint_close(b);
    region_drop(at);
    munmap(at, ENDPOINT_LONG);
}

/* The bytes of a message are read in one place after the other, and there a second time only once
 * those before have gone. */
static void test_bytes_in_turns(void **state)
{
    enum { TURN = 32 * 1024 };
    static char expected[ENDPOINT_LONG];
    char *at = mmap(NULL, TURN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct endpoint *a, *b;
    size_t sent = 0, came = 0;

    (void)state;
    assert_true(at != MAP_FAILED);
    for (size_t i = 0; i < ENDPOINT_LONG; i++)
        expected[i] = (char)(i * 31 >> 8);
    region_add(at, TURN);
    open_both(&a, &b);
    agree(a, b);
    assert_checked(a, b);
    while (sent < ENDPOINT_LONG) {
        size_t end = sent + TURN;

        memcpy(at, expected + sent, TURN);
        if (!sent)
            assert_false(endpoint_begin(a, 0, at, ENDPOINT_LONG)); /* not all of it is there */
        endpoint_turn(a, at, sent, end);
        mock_verbs_hold("m");
        while (sent < end)
            sent += endpoint_part(a, sent);
        assert_int_equal(sent, end);
        assert_false(endpoint_has_read(a, endpoint_mark(a)));
        mock_verbs_release("m");
        came += taken(b, expected + came);
        assert_int_equal(came, sent);
        endpoint_poll(a);
        assert_true(endpoint_has_read(a, endpoint_mark(a)));
    }
    endpoint_close(a);
    endpoint_close(b);
    region_drop(at);
    munmap(at, TURN);
}

/* --- checks of the other end ------------------------------------------------------------------ */

static void assert_check_fails(struct endpoint *e, const char *text)
{
    struct fault why;
    bool done = false;

    assert_int_equal(endpoint_check(e, &done, &why), ML_ERR_LINK);
    assert_false(done);
    assert_string_equal(why.text, text);
}

/* Rank 0's rail to rank 1 ends at rank 2, which uses it as its rail to rank 0. */
static void test_another_rank(void **state)
{
    struct endpoint *a =
        endpoint_of(&(struct side){{"m:1"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *c =
        endpoint_of(&(struct side){{"n:1"}, 2, 0, "rank 0 on host a", 5, false, NULL});
    struct fault why;
    bool done;

    (void)state;
    connect_to(a, c);
    connect_to(c, a);
    assert_int_equal(endpoint_check(c, &done, &why), 0);
    assert_check_fails(a, "the link on m port 1 (GID 1, ::ffff:10.1.0.1) towards rank 1 on host b "
                          "(GID 1, ::ffff:10.1.0.2) leads from rank 2 to rank 0 instead: the "
                          "hostfile's wiring does not fit the cables");
    endpoint_close(a);
    endpoint_close(c);
}

static void test_another_job(void **state)
{
    struct endpoint *a =
        endpoint_of(&(struct side){{"m:2"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *b =
        endpoint_of(&(struct side){{"n:2"}, 1, 0, "rank 0 on host a", 6, false, NULL});
    struct fault why;
    bool done;

    (void)state;
    connect_to(a, b);
    connect_to(b, a);
    assert_int_equal(endpoint_check(b, &done, &why), 0);
    assert_check_fails(
        a, "the link on m port 2 (GID 2, ::ffff:10.2.0.1) towards rank 1 on host b "
           "(GID 2, ::ffff:10.2.0.2) leads to something that does not belong to this job");
    endpoint_close(a);
    endpoint_close(b);
}

static void test_silence(void **state)
{
    struct endpoint *a =
        endpoint_of(&(struct side){{"m:2"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *b =
        endpoint_of(&(struct side){{"n:2"}, 1, 0, "rank 0 on host a", 5, false, NULL});
    struct fault why;
    bool done;

    (void)state;
    connect_to(a, b);
    connect_to(b, a);
    assert_int_equal(endpoint_check(a, &done, &why), 0);
    assert_false(done);
    assert_int_equal(endpoint_check_late(a, &why), ML_ERR_LINK);
    assert_string_equal(why.text,
                        "the link on m port 2 (GID 2, ::ffff:10.2.0.1) towards rank 1 on host b "
                        "(GID 2, ::ffff:10.2.0.2) was set up on both ends, but nothing comes "
                        "through: are these two devices on one cable, as the hostfile's wiring "
                        "says?");
    endpoint_close(a);
    endpoint_close(b);
}

static void test_other_number_of_rails(void **state)
{
    struct endpoint *a =
        endpoint_of(&(struct side){{"m:1", "m:2"}, 0, 1, "rank 1 on host b", 5, false, NULL});
    struct endpoint *b =
        endpoint_of(&(struct side){{"n:2"}, 1, 0, "rank 0 on host a", 5, false, NULL});
    struct fault why;
    size_t size;
    const void *bytes = endpoint_publish(b, &size);

    (void)state;
    assert_int_equal(endpoint_connect(a, bytes, size, &why), ML_ERR_LINK);
    assert_string_equal(why.text, "the hostfile's wiring has 2 devices from here to rank 1 on host "
                                  "b, but 1 the other way");
    endpoint_close(a);
    endpoint_close(b);
}

/* --- devices ---------------------------------------------------------------------------------- */

static void assert_not_opened(const char *name, const char *text)
{
    struct ibv_context *c;
    struct fault why;

    assert_int_equal(device_open(&c, name, &why), ML_ERR_DEVICE);
    assert_string_equal(why.text, text);
}

static void test_devices(void **state)
{
    static const struct mock_device none[] = {{.name = NULL}};

    (void)state;
    assert_not_opened("x", "there is no RDMA device x here, only m, n, o, ib, bare; compare the "
                           "hostfile's \"rdma\" with `rdma link`");
    mock_verbs_refuse(0, ENODEV, 0);
    assert_not_opened("m", "cannot open the RDMA device on m: No such device; the device has gone "
                           "away, or this container does not have it");
    mock_verbs_refuse(ENOSYS, 0, 0);
    assert_not_opened("m", "there is no RDMA device m here: the kernel has no RDMA (Function not "
                           "implemented): load ib_uverbs (modprobe ib_uverbs)");
    mock_verbs_refuse(EPERM, 0, 0);
    assert_not_opened("m", "cannot look for the RDMA device m: Operation not permitted; is "
                           "ib_uverbs loaded, and /dev/infiniband in this container?");
    mock_verbs_end(state);
    mock_verbs_begin(none);
    assert_not_opened("m",
                      "there is no RDMA device m here, nor any other: is its driver loaded, and "
                      "is /dev/infiniband in this container?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, mock_verbs_end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_no_address_in_common),
        TEST(test_kinds_of_link),
        TEST(test_kinds_of_connection),
        TEST(test_mtu),
        TEST(test_damaged),
        TEST(test_ports_to_one_peer),
        TEST(test_ports_to_two_peers),
        TEST(test_port_goes_down),
        TEST(test_near_gpus),
        TEST(test_all_are_there),
        TEST(test_port_is_down),
        TEST(test_all_ports_are_down),
        TEST(test_none_at_both_ends),
        TEST(test_damaged_agreement),
        TEST(test_fails_during_check),
        TEST(test_gpu_memory_is_sent_again),
        TEST(test_bytes_in_turns),
        TEST(test_another_rank),
        TEST(test_another_job),
        TEST(test_silence),
        TEST(test_other_number_of_rails),
        TEST(test_devices),
    };

    return cmocka_run_group_tests_name("rails", tests, NULL, NULL);
}
