/* SPDX-License-Identifier: MIT */
/*
 * test_zero_copy.c: when memory is registered, the work requests of chunks, and announcements; also
 * beyond 4 GiB and with devices that accept only short messages. The devices are mocks, because
 * Soft-RoCE has only one kind of them.
 */
#include "rdma/zero_copy.h"

#include "rdma/verbs/region.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* --- the device ------------------------------------------------------------------------------- */

static struct ibv_mr given[64];
static int registered, deregistered;
static int refuse;
static struct ibv_send_wr posted;
static struct ibv_sge piece;
static struct ibv_wc completions[4];
static int completion_count;

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t size, int access)
{
    struct ibv_mr *m = &given[registered];

    assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (refuse) {
        errno = refuse;
        return NULL;
    }
    *m = (struct ibv_mr){.pd = pd, .addr = address, .length = size};
    m->lkey = 100 + (uint32_t)registered;
    m->rkey = 200 + (uint32_t)registered;
    registered++;
    return m;
}

int ibv_dereg_mr(struct ibv_mr *m)
{
    assert_true(m >= given && m < given + registered);
    deregistered++;
    return 0;
}

static int device_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
    (void)qp;
    (void)bad;
    posted = *work;
    memset(&piece, 0, sizeof(piece));
    if (work->num_sge)
        piece = *work->sg_list;
    return 0;
}

static int device_receive(struct ibv_qp *qp, struct ibv_recv_wr *work, struct ibv_recv_wr **bad)
{
    (void)qp;
    (void)work;
    (void)bad;
    return 0;
}

static int device_poll(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    int count = completion_count < most ? completion_count : most;

    (void)cq;
    memcpy(out, completions, (size_t)count * sizeof(*out));
    completion_count = 0;
    return count;
}

/* --- two rails -------------------------------------------------------------------------------- */

static struct ibv_context context = {
    .ops = {.post_send = device_send, .post_recv = device_receive, .poll_cq = device_poll}};
static struct ibv_qp pairs[2];
static struct ibv_cq queue = {.context = &context};
static struct ibv_pd domains[2];
static struct port ports[2] = {{.device = "mlx5_0", .number = 1},
                               {.device = "mlx5_1", .number = 2}};
static struct ibv_mr ring = {.lkey = 1, .rkey = 2};
static struct rail *rails[2];
static struct zero_copy z;

static int setup(void **state)
{
    (void)state;
    registered = deregistered = refuse = completion_count = 0;
    for (int i = 0; i < 2; i++) {
        struct rail *r = calloc(1, sizeof(*r));

        assert_non_null(r);
        pairs[i].context = &context;
        r->fit.port = &ports[i];
        r->domain = &domains[i];
        r->sends = r->receives = &queue;
        r->memory.bytes = calloc(1, MEMORY_SIZE);
        r->memory.region = &ring;
        r->pair = (struct queue_pair){
            .kind = QUEUE_PAIR_RC, .qp = &pairs[i], .max_inline = QUEUE_PAIR_INLINE};
        r->index = i;
        r->fit.peer = "rank 1 on host b";
        r->fit.address = 0x1000000;
        r->fit.key = 77;
        r->is_connected = true;
        rails[i] = r;
    }
    z = (struct zero_copy){.rails = rails, .rail_count = 2};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        region_forget(&domains[i]);
        free(rails[i]->memory.bytes);
        free(rails[i]);
    }
    return 0;
}

/* Addresses that are never accessed. */
static unsigned char *const there = (unsigned char *)0x200000000000; /* NOLINT */
static const size_t large = (size_t)6 << 30;

static void completed(uint64_t id)
{
    completions[completion_count++] = (struct ibv_wc){.status = IBV_WC_SUCCESS, .wr_id = id};
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_regions(void **state)
{
    const struct explain_place at = {.device = "mlx5_0", .port = 1};
    struct region_keys keys;
    struct fault why = {0};

    (void)state;
    region_add(there + large, 8192);
    region_add(there, large);
    assert_false(region_find(&domains[0], there - 1, 10, true, &keys, &at, &why));
    assert_false(region_find(&domains[0], there + large - 10, 11, true, &keys, &at,
                             &why)); /* reaches into the next one */
    assert_false(region_find(&domains[0], there + large + 8192, 1, true, &keys, &at, &why));
    assert_int_equal(registered, 0);
    assert_true(region_find(&domains[0], there + 5, large - 5, true, &keys, &at, &why));
    assert_int_equal(registered, 1);
    assert_ptr_equal(given[0].addr, there); /* the whole allocation */
    assert_int_equal(given[0].length, large);
    assert_true(region_find(&domains[0], there + large - 1, 1, true, &keys, &at, &why));
    assert_int_equal(keys.local, 100);
    assert_int_equal(keys.remote, 200);
    assert_int_equal(registered, 1); /* once only */
    assert_true(region_find(&domains[1], there, 1, true, &keys, &at, &why));
    assert_int_equal(keys.local, 101);
    assert_true(region_find(&domains[1], there + large, 8192, true, &keys, &at, &why));
    region_forget(&domains[1]);
    assert_int_equal(deregistered, 2);
    region_drop(there);
    assert_int_equal(deregistered, 3);
    assert_false(region_find(&domains[0], there, 1, true, &keys, &at, &why));
    region_drop(there + large);
    assert_int_equal(deregistered, 3);
    assert_int_equal(why.code, 0);
}

/* Reported once, with the limit and the remedy, and not tried again. */
static void test_refusal(void **state)
{
    struct rlimit before, low;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    low = before;
    low.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
    region_add(there, large);
    refuse = ENOMEM;
    assert_false(zero_copy_begin(&z, 0, there, large));
    assert_int_equal(z.trouble.code, ML_ERR_MEMORY);
    assert_non_null(strstr(z.trouble.text, "6291456 KiB of ml_alloc are copied instead: cannot "
                                           "register memory on mlx5_0 port 1"));
    assert_non_null(strstr(z.trouble.text, "raise it (ulimit -l"));
    assert_non_null(strstr(z.trouble.text, "(the limit is 64 KiB)"));
    refuse = 0;
    assert_false(zero_copy_begin(&z, 1, there, large));
    assert_int_equal(registered, 0);
    assert_true(zero_copy_announce(&z, rails[0], 0, there, large)); /* no reason to try again */
    region_drop(there);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

static void test_announcement(void **state)
{
    struct rail_announcement a;
    uint32_t word;

    (void)state;
    region_add(there, large);
    assert_true(zero_copy_announce(&z, rails[0], 6, there + 4096, large - 4096));
    memcpy(&a, (const void *)(uintptr_t)piece.addr, sizeof(a)); /* NOLINT */
    assert_int_equal(a.serial, 6);
    assert_int_equal(a.address, (uintptr_t)there + 4096);
    assert_int_equal(a.size, large - 4096);
    assert_int_equal(a.keys[0], 200);
    assert_int_equal(a.keys[1], 201);
    assert_int_equal(posted.wr.rdma.remote_addr,
                     0x1000000 + MEMORY_ANNOUNCED + 2 * MEMORY_ANNOUNCEMENT);
    assert_int_equal(posted.wr.rdma.rkey, 77);
    word = ntohl(posted.imm_data);
    assert_int_equal(word & 0xffff, 1 << 14 | 2);

    /* Deliver it over the other rail, as if it came from the peer. */
    memcpy(rails[1]->memory.bytes + MEMORY_ANNOUNCED + 2 * MEMORY_ANNOUNCEMENT, &a, sizeof(a));
    completions[completion_count++] = (struct ibv_wc){
        .status = IBV_WC_SUCCESS, .imm_data = posted.imm_data, .byte_len = sizeof(a)};
    rail_poll(rails[1]);
    assert_null(rail_announced(rails[1], 2));
    assert_non_null(rail_announced(rails[1], 6));
    assert_true(
        zero_copy_begin(&z, 6, "", large - 4096)); /* not of ml_alloc: copied here, direct there */
    assert_null(zero_copy_way(&z, rails[0], 10).from);
    assert_int_equal(zero_copy_way(&z, rails[1], ((size_t)5 << 30) + 10).to,
                     (uintptr_t)there + 4096 + ((size_t)5 << 30) + 10);
    assert_int_equal(zero_copy_way(&z, rails[1], 0).peer_key, 201);
    assert_false(zero_copy_begin(&z, 6, "",
                                 large)); /* another size: a mismatch, which the header will show */
    assert_false(zero_copy_begin(&z, 7, "", large - 4096));
    assert_false(zero_copy_way(&z, rails[0], 0).is_direct);
    region_drop(there);
}

static void test_short_ones(void **state)
{
    (void)state;
    region_add(there, large);
    assert_false(zero_copy_begin(&z, 0, there, ZERO_COPY_LEAST - 1));
    assert_true(zero_copy_announce(&z, rails[0], 0, there, ZERO_COPY_LEAST - 1));
    assert_int_equal(registered, 0);
    assert_true(zero_copy_begin(&z, 0, there, ZERO_COPY_LEAST));
    region_drop(there);
}

/* UC: another rail may have to send the bytes again, and nothing shows when they have arrived; so
 * they are copied. */
static void test_unreliable(void **state)
{
    (void)state;
    region_add(there, large);
    rails[0]->pair.kind = rails[1]->pair.kind = QUEUE_PAIR_UC;
    assert_false(zero_copy_begin(&z, 0, there, large));
    z.rail_count = 1;
    assert_true(zero_copy_begin(&z, 0, there, large));
    region_drop(there);
}

/* A GPU's bytes must be registered on all rails, and what is sent may not have to be sent again. */
static void test_gpu(void **state)
{
    const struct region_gpu gpu = {.dmabuf = -1, .refusal = "the driver has none"};
    enum region_way way;
    struct fault why = {0};

    (void)state;
    assert_true(region_add_gpu(there, large, &gpu));
    assert_false(zero_copy_reaches(&z, there, ZERO_COPY_LEAST - 1, true, &way, &why));
    assert_int_equal(why.code, 0);
    assert_int_equal(registered, 0);
    assert_true(zero_copy_reaches(&z, there, ZERO_COPY_LEAST, true, &way, &why));
    assert_int_equal(way, REGION_PEERMEM);
    assert_int_equal(registered, 2);

    rails[1]->pair.kind = QUEUE_PAIR_UC;
    assert_true(zero_copy_reaches(&z, there, large, false, &way, &why));
    assert_false(zero_copy_reaches(&z, there, large, true, &way, &why));
    assert_string_equal(why.text,
                        "mlx5_1 port 2: what goes over several rails by unreliable connections "
                        "(UC) must be kept until it has arrived");
    region_drop(there);

    why.code = 0;
    refuse = EFAULT;
    assert_true(region_add_gpu(there, large, &gpu));
    assert_false(zero_copy_reaches(&z, there, large, false, &way, &why));
    assert_string_equal(
        why.text, "6291456 KiB of GPU memory can't be registered on mlx5_0 port 1: neither by "
                  "a dma-buf (the driver has none) nor by nvidia-peermem (Bad address; is the "
                  "kernel module nvidia_peermem loaded?)");
    region_drop(there);
}

static void test_chunks(void **state)
{
    struct rail *r = rails[1];
    struct rail_way way;
    struct rail_chunk what;

    (void)state;
    region_add(there, large);
    assert_true(zero_copy_begin(&z, 0, there, large));
    way = zero_copy_way(&z, r, ((size_t)4 << 30) + 64);
    assert_false(way.is_direct);
    rail_post(r, ZERO_COPY_PART, 20000, &way);
    assert_int_equal(piece.addr, (uintptr_t)there + ((size_t)4 << 30) + 64);
    assert_int_equal(piece.lkey, 101);
    assert_int_equal(piece.length, ZERO_COPY_PART);
    assert_int_equal(posted.wr.rdma.remote_addr, 0x1000000 + MEMORY_IN); /* its slot */
    assert_int_equal(posted.wr.rdma.rkey, 77);
    assert_int_equal(ntohl(posted.imm_data) & 0xffff, 1 << 15 | (20000 & RAIL_NUMBER_MASK));
    assert_ptr_equal(rail_posted(r, 0, &what),
                     there + ((size_t)4 << 30) + 64); /* for sending again */

    way.is_direct = true;
    way.to = 0x4200000000;
    way.peer_key = 88;
    rail_post(r, 100, 20001, &way);
    assert_int_equal(posted.wr.rdma.remote_addr, 0x4200000000);
    assert_int_equal(posted.wr.rdma.rkey, 88);
    assert_int_equal(ntohl(posted.imm_data) & 0xffff,
                     1 << 15 | 1 << 14 | (20001 & RAIL_NUMBER_MASK));
    rail_post(r, 100, 20002, NULL);
    assert_int_equal(piece.lkey, 1);
    assert_int_equal(posted.wr.rdma.rkey, 77);

    assert_true(rail_has_read(r, 0, 20000)); /* only chunks before the first one */
    assert_false(rail_has_read(r, 0, 20001));
    completed(1);
    assert_true(rail_has_read(r, 0, 20001));
    assert_false(rail_has_read(r, 0, 20002));
    assert_true(rail_has_read(r, 2, 20002)); /* the peer has said that this one arrived */
    completed(1);
    assert_true(rail_has_read(r, 0, 20003)); /* the last one was in its slot */
    region_drop(there);
}

static void test_room(void **state)
{
    struct port p = {0};

    (void)state;
    assert_int_equal(rail_room(&p), MEMORY_SLOT); /* the port states no limit */
    p.attr.max_msg_sz = 0x80000000;
    assert_int_equal(rail_room(&p), MEMORY_SLOT);
    p.attr.max_msg_sz = 4096 + 17;
    assert_int_equal(rail_room(&p), 4096);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refusal, setup,
                                        teardown), /* first, because it is reported once */
        cmocka_unit_test_setup_teardown(test_regions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_announcement, setup, teardown),
        cmocka_unit_test_setup_teardown(test_short_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreliable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chunks, setup, teardown),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests_name("zero_copy", tests, NULL, NULL);
}
