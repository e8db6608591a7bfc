/* SPDX-License-Identifier: MIT */
/*
 * test_wire_trial.c: where datagrams are sent on InfiniBand, and what is known after a trial if
 * they are lost, longer than the path allows, another job's, or not answered. The verbs are mocks:
 * the peer answers as soon as something is sent to it.
 */
#include "rdma/probe/wire_trial.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUTE_HEADER = 40, POSTED_MOST = 1024, DONE_MOST = 4096 };

/* As rdma/probe/wire_trial.h draws it. */
struct wire_trial_datagram {
    uint64_t magic, tag;
    uint32_t from, to, heard[2], is_long;
};

static struct {
    struct ibv_context context;
    struct ibv_cq queue;
    struct ibv_comp_channel channel;
    struct ibv_pd domain;
    struct ibv_mr region;
    struct ibv_qp pair;
    struct ibv_ah handle;
    int pipe[2];
    struct ibv_recv_wr posted[POSTED_MOST];
    struct ibv_sge pieces[POSTED_MOST];
    struct ibv_wc done[DONE_MOST];
    unsigned posted_in, posted_out, done_in, done_out;

    struct ibv_ah_attr address; /* the last one given to create_ah */
    uint32_t sent_to;
    int address_error;
    int lose;         /* how many of the peer's first datagrams are lost */
    bool is_narrow;   /* long datagrams are lost both ways */
    bool is_silent;   /* the peer sends nothing */
    uint64_t its_tag; /* in the peer's datagrams; 0: the same as ours */
    bool heard[2];    /* by the peer */
} mock;

static void done_add(struct ibv_wc done)
{
    assert_true(mock.done_in - mock.done_out < DONE_MOST);
    mock.done[mock.done_in++ % DONE_MOST] = done;
}

static void deliver(const struct wire_trial_datagram *word, uint32_t size)
{
    unsigned at = mock.posted_out++ % POSTED_MOST;

    assert_true(mock.posted_in >= mock.posted_out);
    memcpy((void *)(uintptr_t)(mock.pieces[at].addr + ROUTE_HEADER), word, sizeof(*word));
    done_add((struct ibv_wc){
        .wr_id = mock.posted[at].wr_id, .status = IBV_WC_SUCCESS, .byte_len = ROUTE_HEADER + size});
}

static void peer_hears(const struct wire_trial_datagram *word, uint32_t size)
{
    struct wire_trial_datagram reply = {word->magic, mock.its_tag ? mock.its_tag : word->tag,
                                        word->to,    word->from,
                                        {0, 0},      word->is_long};

    if (mock.is_silent || (mock.is_narrow && word->is_long))
        return;
    mock.heard[word->is_long ? 1 : 0] = true;
    reply.heard[0] = mock.heard[0];
    reply.heard[1] = mock.heard[1];
    if (mock.lose > 0)
        mock.lose--;
    else
        deliver(&reply, size);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
    uint32_t size = 0;

    (void)qp, (void)bad;
    assert_ptr_equal(work->wr.ud.ah, &mock.handle);
    mock.sent_to = work->wr.ud.remote_qpn;
    for (int i = 0; i < work->num_sge; i++)
        size += work->sg_list[i].length;
    done_add((struct ibv_wc){.wr_id = work->wr_id, .status = IBV_WC_SUCCESS});
    peer_hears((const struct wire_trial_datagram *)(uintptr_t)work->sg_list[0].addr, size);
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *work, struct ibv_recv_wr **bad)
{
    unsigned at = mock.posted_in++ % POSTED_MOST;

    (void)qp, (void)bad;
    mock.posted[at] = *work;
    mock.pieces[at] = *work->sg_list;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    int count = 0;

    (void)cq;
    while (count < most && mock.done_out != mock.done_in)
        out[count++] = mock.done[mock.done_out++ % DONE_MOST];
    return count;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)pd;
    mock.address = *attr;
    errno = mock.address_error;
    return mock.address_error ? NULL : &mock.handle;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    (void)context;
    return &mock.domain;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    (void)pd;
    return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    (void)pd, (void)addr, (void)length, (void)access;
    return &mock.region;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    (void)iova;
    return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    (void)mr;
    return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    (void)context;
    return &mock.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    (void)channel;
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int depth, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    (void)context, (void)depth, (void)cq_context, (void)channel, (void)vector;
    return &mock.queue;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    (void)channel, (void)cq, (void)context;
    return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
    (void)cq, (void)count;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)pd;
    assert_int_equal(attr->qp_type, IBV_QPT_UD);
    return &mock.pair;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp, (void)attr, (void)mask;
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    (void)qp;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    memset(&mock, 0, sizeof(mock));
    mock.context.ops.post_send = post_send;
    mock.context.ops.post_recv = post_recv;
    mock.context.ops.poll_cq = poll_cq;
    mock.context.ops.req_notify_cq = req_notify_cq;
    mock.queue.context = mock.pair.context = &mock.context;
    mock.pair.qp_num = 17;
    if (pipe(mock.pipe))
        return -1;
    mock.channel.fd = mock.pipe[0];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(mock.pipe[0]);
    close(mock.pipe[1]);
    return 0;
}

/* Tries one target from one port. */
static struct wire_trial_target try_one(bool is_ethernet, int wait_ms)
{
    static struct wire_trial_target t; /* a late thread may still use it */
    struct wire_trial *w;
    struct fault why;
    uint32_t number;

    t = (struct wire_trial_target){.port = 1,
                                   .from = 3,
                                   .to = 1 << 16 | 4,
                                   .is_ethernet = is_ethernet,
                                   .gid = {.index = 6},
                                   .peer_gid = {.raw = {0xfe, 0x80, 1}},
                                   .lid = 42,
                                   .number = 99,
                                   .mtu = 2048};
    assert_int_equal(wire_trial_open(&w, &mock.context, "mlx5_0", &why), 0);
    assert_int_equal(wire_trial_add_port(w, 1, &number, &why), 0);
    assert_int_equal(number, 17);
    wire_trial_run(w, &t, 1, 0x1234, wait_ms, -1);
    wire_trial_close(w);
    return t;
}

static void test_lid(void **state)
{
    struct wire_trial_target t = try_one(false, 20000);

    (void)state;
    assert_true(wire_trial_is_linked(&t) && wire_trial_is_whole(&t));
    assert_int_equal(mock.address.dlid, 42);
    assert_int_equal(mock.address.port_num, 1);
    assert_int_equal(mock.address.is_global, 0);
    assert_int_equal(mock.sent_to, 99);
}

static void test_gid(void **state)
{
    struct wire_trial_target t = try_one(true, 20000);

    (void)state;
    assert_true(wire_trial_is_whole(&t));
    assert_int_equal(mock.address.is_global, 1);
    assert_int_equal(mock.address.grh.sgid_index, 6);
    assert_memory_equal(mock.address.grh.dgid.raw, t.peer_gid.raw, 16);
}

static void test_loss(void **state)
{
    struct wire_trial_target t;

    (void)state;
    mock.lose = 5;
    t = try_one(true, 20000);
    assert_true(wire_trial_is_whole(&t));
}

static void test_narrow(void **state)
{
    struct wire_trial_target t;

    (void)state;
    mock.is_narrow = true;
    t = try_one(true, 20000);
    assert_true(wire_trial_is_linked(&t));
    assert_false(wire_trial_is_whole(&t));
}

static void test_silence(void **state)
{
    struct wire_trial_target t;

    (void)state;
    mock.is_silent = true;
    t = try_one(true, 300);
    assert_false(wire_trial_is_linked(&t));
    assert_int_equal(t.error, 0);
    teardown(state);
    setup(state);
    mock.its_tag = 0x4321; /* another job's */
    t = try_one(true, 300);
    assert_false(wire_trial_is_linked(&t));
}

static void test_no_address(void **state)
{
    struct wire_trial_target t;

    (void)state;
    mock.address_error = ETIMEDOUT;
    t = try_one(true, 20000); /* the trial ends before */
    assert_false(wire_trial_is_linked(&t));
    assert_int_equal(t.error, ETIMEDOUT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lid, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gid, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loss, setup, teardown),
        cmocka_unit_test_setup_teardown(test_narrow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_address, setup, teardown),
    };

    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
