/* SPDX-License-Identifier: MIT */
/*
 * rules: breaks one rule of verbs after the other, or those that are named, on the first device of
 * its host. Before each it prints a line with the rule's name to standard error, and behind it
 * "NAME: got WHAT", what the call or the completion gave. Status 1 if that is not what a device
 * gives.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 17, SENDS = 4, RECEIVES = 4, CQES = 64, QKEY = 0x1111, WAIT_S = 10 };

/* Two queue pairs of one context that are connected with each other. */
struct pair {
    struct ibv_context *context;
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    struct ibv_pd *pd, *other_pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *mr, *readable, *other_mr;
    struct ibv_qp *a, *b; /* a sends, b receives */
    struct ibv_ah *ah;
    unsigned char *bytes;
};

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void *need(void *p, const char *what)
{
    if (!p)
        die(what);
    return p;
}

static void must(int err, const char *what)
{
    if (err) {
        errno = err;
        die(what);
    }
}

static struct ibv_qp_init_attr init_of(const struct pair *p, enum ibv_qp_type type)
{
    return (struct ibv_qp_init_attr){.send_cq = p->cq,
                                     .recv_cq = p->cq,
                                     .cap = {.max_send_wr = SENDS,
                                             .max_recv_wr = RECEIVES,
                                             .max_send_sge = 2,
                                             .max_recv_sge = 2,
                                             .max_inline_data = 64},
                                     .qp_type = type};
}

static struct ibv_qp *qp_create(const struct pair *p, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr init = init_of(p, type);

    return need(ibv_create_qp(p->pd, &init), "ibv_create_qp");
}

static int to_init(struct ibv_qp *qp, int access)
{
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .qp_access_flags = (unsigned)access};

    return ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static struct ibv_qp_attr rtr_attr(const struct pair *p, uint32_t to)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = to,
                            .rq_psn = 7,
                            .max_dest_rd_atomic = 1,
                            .min_rnr_timer = 1,
                            .ah_attr = {.is_global = 1, .port_num = 1}};

    a.ah_attr.grh.hop_limit = 1;
    a.ah_attr.grh.sgid_index = 1;
    if (ibv_query_gid(p->context, 1, 1, &a.ah_attr.grh.dgid))
        die("ibv_query_gid");
    return a;
}

enum {
    RTR_RC = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
    RTR_UC = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
    RTS_RC = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC,
};

static void to_rtr(const struct pair *p, struct ibv_qp *qp, uint32_t to)
{
    struct ibv_qp_attr a = rtr_attr(p, to);
    int mask = qp->qp_type == IBV_QPT_RC   ? RTR_RC
               : qp->qp_type == IBV_QPT_UC ? RTR_UC
                                           : IBV_QP_STATE;

    must(ibv_modify_qp(qp, &a, mask), "ibv_modify_qp to RTR");
}

static void to_rts(struct ibv_qp *qp, uint8_t rnr_retry)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = 7,
                            .timeout = 10,
                            .retry_cnt = 1,
                            .rnr_retry = rnr_retry,
                            .max_rd_atomic = 4};

    must(ibv_modify_qp(qp, &a, qp->qp_type == IBV_QPT_RC ? RTS_RC : IBV_QP_STATE | IBV_QP_SQ_PSN),
         "ibv_modify_qp to RTS");
}

static struct ibv_mr *mr_of(struct ibv_pd *pd, void *at, size_t size, int access)
{
    return need(ibv_reg_mr(pd, at, size, access), "ibv_reg_mr");
}

static void pair_open(struct pair *p, enum ibv_qp_type type, uint8_t rnr_retry)
{
    struct ibv_device **list = need(ibv_get_device_list(NULL), "ibv_get_device_list");
    const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                    IBV_ACCESS_REMOTE_ATOMIC;

    *p = (struct pair){0};
    p->context = need(list[0] ? ibv_open_device(list[0]) : NULL, "ibv_open_device");
    ibv_free_device_list(list);
    must(ibv_query_device(p->context, &p->device), "ibv_query_device");
    must(ibv_query_port(p->context, 1, &p->port), "ibv_query_port");
    p->pd = need(ibv_alloc_pd(p->context), "ibv_alloc_pd");
    p->other_pd = need(ibv_alloc_pd(p->context), "ibv_alloc_pd");
    p->channel = need(ibv_create_comp_channel(p->context), "ibv_create_comp_channel");
    p->cq = need(ibv_create_cq(p->context, CQES, NULL, p->channel, 0), "ibv_create_cq");
    p->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->bytes == MAP_FAILED)
        die("mmap");
    p->mr = mr_of(p->pd, p->bytes, SIZE, all);
    p->readable = mr_of(p->pd, p->bytes, SIZE, 0);
    p->other_mr = mr_of(p->other_pd, p->bytes, SIZE, all);
    p->a = qp_create(p, type);
    p->b = qp_create(p, type);
    must(to_init(p->a, 0), "ibv_modify_qp to INIT");
    must(to_init(p->b, all & ~IBV_ACCESS_LOCAL_WRITE), "ibv_modify_qp to INIT");
    to_rtr(p, p->a, p->b->qp_num);
    to_rtr(p, p->b, p->a->qp_num);
    to_rts(p->a, rnr_retry);
    to_rts(p->b, rnr_retry);
    if (type == IBV_QPT_UD) {
        struct ibv_ah_attr to = rtr_attr(p, 0).ah_attr;

        p->ah = need(ibv_create_ah(p->pd, &to), "ibv_create_ah");
    }
}

static void pair_close(struct pair *p)
{
    if (p->ah)
        ibv_destroy_ah(p->ah);
    if (p->a)
        ibv_destroy_qp(p->a);
    if (p->b)
        ibv_destroy_qp(p->b);
    if (p->mr)
        ibv_dereg_mr(p->mr);
    ibv_dereg_mr(p->readable);
    ibv_dereg_mr(p->other_mr);
    if (p->cq)
        ibv_destroy_cq(p->cq);
    ibv_destroy_comp_channel(p->channel);
    ibv_dealloc_pd(p->pd);
    ibv_dealloc_pd(p->other_pd);
    ibv_close_device(p->context);
    munmap(p->bytes, SIZE);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct ibv_sge sge_of(const struct pair *p, uint32_t length)
{
    return (struct ibv_sge){(uintptr_t)p->bytes, length, p->mr->lkey};
}

static struct ibv_send_wr send_of(const struct pair *p, struct ibv_sge *sge,
                                  enum ibv_wr_opcode opcode)
{
    struct ibv_send_wr wr = {
        .sg_list = sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};

    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = (uintptr_t)p->bytes + SIZE / 2;
        wr.wr.atomic.rkey = p->mr->rkey;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)p->bytes + SIZE / 2;
        wr.wr.rdma.rkey = p->mr->rkey;
    }
    return wr;
}

static int send_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    return ibv_post_send(qp, wr, &bad);
}

static int receive_post(struct ibv_qp *qp, struct ibv_sge *sge, int count)
{
    struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = count}, *bad;

    return ibv_post_recv(qp, &wr, &bad);
}

/* The next completion of queue pair `qp`. */
static int status_of(const struct pair *p, const struct ibv_qp *qp)
{
    struct ibv_wc wc;

    for (int i = 0; i < WAIT_S * 1000; i++) {
        while (ibv_poll_cq(p->cq, 1, &wc) == 1)
            if (wc.qp_num == qp->qp_num)
                return (int)wc.status;
        poll(NULL, 0, 1);
    }
    fprintf(stderr, "no completion came\n");
    return -1;
}

/* Posts the request and gives the completion's status. */
static int sent(const struct pair *p, struct ibv_send_wr *wr)
{
    must(send_post(p->a, wr), "ibv_post_send");
    return status_of(p, p->a);
}

static int remote(struct pair *p, enum ibv_wr_opcode opcode, uint64_t by, uint32_t rkey)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, opcode);

    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr += by;
        wr.wr.atomic.rkey = rkey;
    } else {
        wr.wr.rdma.remote_addr += by;
        wr.wr.rdma.rkey = rkey;
    }
    return sent(p, &wr);
}

/* --- the rules -------------------------------------------------------------------------------- */

static int lives(struct pair *p)
{
    struct ibv_qp *gone = p->a;
    struct ibv_sge sge = sge_of(p, 8);

    must(ibv_destroy_qp(p->a), "ibv_destroy_qp");
    p->a = NULL;
    return receive_post(gone, &sge, 1);
}

static int limit(struct pair *p)
{
    return ibv_create_cq(p->context, p->device.max_cqe + 1, NULL, NULL, 0) ? 0 : errno;
}

static int in_use(struct pair *p)
{
    return ibv_dealloc_pd(p->pd);
}

static int events_acked(struct pair *p)
{
    ibv_ack_cq_events(p->cq, 1);
    return 0;
}

static int one_context(struct pair *p)
{
    struct ibv_context *other = need(ibv_open_device(p->context->device), "ibv_open_device");
    struct ibv_pd *pd = need(ibv_alloc_pd(other), "ibv_alloc_pd");
    struct ibv_qp_init_attr init = init_of(p, IBV_QPT_RC);
    int err = ibv_create_qp(pd, &init) ? 0 : errno;

    ibv_dealloc_pd(pd);
    ibv_close_device(other);
    return err;
}

static int one_domain(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    sge.lkey = p->other_mr->lkey;
    return sent(p, &wr);
}

static int mr_access(struct pair *p)
{
    return ibv_reg_mr(p->pd, p->bytes, SIZE, IBV_ACCESS_REMOTE_WRITE) ? 0 : errno;
}

static int mr_length(struct pair *p)
{
    return ibv_reg_mr(p->pd, p->bytes, p->device.max_mr_size + 1, 0) ? 0 : errno;
}

static int mr_mapped(struct pair *p)
{
    void *hole = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int err = ibv_reg_mr(p->pd, hole, SIZE, IBV_ACCESS_LOCAL_WRITE) ? 0 : errno;

    munmap(hole, SIZE);
    return err;
}

static int mr_unmapped(struct pair *p)
{
    void *gone = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr = mr_of(p->pd, gone, SIZE, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_sge sge = {(uintptr_t)gone, 8, mr->lkey};
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_RDMA_WRITE);
    int status;

    munmap(gone, SIZE);
    status = sent(p, &wr);
    ibv_dereg_mr(mr);
    return status;
}

static int mr_key(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    sge.lkey = 0xabcd;
    return sent(p, &wr);
}

static int mr_range(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, SIZE + 1);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    return sent(p, &wr);
}

static int mr_local_write(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);

    sge.lkey = p->readable->lkey;
    return receive_post(p->b, &sge, 1);
}

static int mr_requests(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    int err;

    must(receive_post(p->b, &sge, 1), "ibv_post_recv");
    err = ibv_dereg_mr(p->mr);
    p->mr = NULL;
    return err;
}

/* The send stands until its receive is posted. */
static int send_unchanged(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8), to = {sge.addr + SIZE / 2, 8, p->mr->lkey};
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    must(send_post(p->a, &wr), "ibv_post_send");
    p->bytes[7]++;
    must(receive_post(p->b, &to, 1), "ibv_post_recv");
    return status_of(p, p->a);
}

static int remote_key(struct pair *p)
{
    return remote(p, IBV_WR_RDMA_WRITE, 0, 0xabcd);
}

static int remote_range(struct pair *p)
{
    return remote(p, IBV_WR_RDMA_WRITE, SIZE, p->mr->rkey);
}

static int remote_access(struct pair *p)
{
    return remote(p, IBV_WR_RDMA_READ, 0, p->readable->rkey);
}

static int remote_domain(struct pair *p)
{
    return remote(p, IBV_WR_RDMA_WRITE, 0, p->other_mr->rkey);
}

static int remote_qp_access(struct pair *p)
{
    struct ibv_qp_attr none = {.qp_access_flags = 0};

    must(ibv_modify_qp(p->b, &none, IBV_QP_ACCESS_FLAGS), "ibv_modify_qp");
    return remote(p, IBV_WR_RDMA_WRITE, 0, p->mr->rkey);
}

static int atomic_aligned(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD);

    wr.wr.atomic.remote_addr += 4;
    return send_post(p->a, &wr);
}

static int atomic_length(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 4);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD);

    return send_post(p->a, &wr);
}

static int receive_length(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 64), small = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    must(receive_post(p->b, &small, 1), "ibv_post_recv");
    return sent(p, &wr);
}

static int receive_posted(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    return sent(p, &wr);
}

static int qp_capability(struct pair *p)
{
    struct ibv_qp_init_attr init = init_of(p, IBV_QPT_RC);

    init.cap.max_send_wr = (uint32_t)p->device.max_qp_wr + 1;
    return ibv_create_qp(p->pd, &init) ? 0 : errno;
}

static int qp_type(struct pair *p)
{
    struct ibv_qp_init_attr init = init_of(p, IBV_QPT_RAW_PACKET);

    return ibv_create_qp(p->pd, &init) ? 0 : errno;
}

static int qp_transition(struct pair *p)
{
    struct ibv_qp *qp = qp_create(p, IBV_QPT_RC);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
    int err = ibv_modify_qp(qp, &a, IBV_QP_STATE);

    ibv_destroy_qp(qp);
    return err;
}

/* A new queue pair in INIT is asked to go to RTR with these attributes. */
static int rtr_tried(const struct pair *p, const struct ibv_qp_attr *a, int mask)
{
    struct ibv_qp *qp = qp_create(p, IBV_QPT_RC);
    struct ibv_qp_attr copy = *a;
    int err;

    must(to_init(qp, 0), "ibv_modify_qp to INIT");
    err = ibv_modify_qp(qp, &copy, mask);
    ibv_destroy_qp(qp);
    return err;
}

static int qp_mask_missing(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    return rtr_tried(p, &a, RTR_RC & ~IBV_QP_RQ_PSN);
}

static int qp_mask_extra(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    return rtr_tried(p, &a, RTR_RC | IBV_QP_TIMEOUT);
}

static int qp_port(struct pair *p)
{
    struct ibv_qp *qp = qp_create(p, IBV_QPT_RC);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 9};
    int err =
        ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

    ibv_destroy_qp(qp);
    return err;
}

static int qp_pkey(struct pair *p)
{
    struct ibv_qp *qp = qp_create(p, IBV_QPT_RC);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 5};
    int err =
        ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

    ibv_destroy_qp(qp);
    return err;
}

static int qp_mtu(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    a.path_mtu = IBV_MTU_4096;
    return rtr_tried(p, &a, RTR_RC);
}

static int qp_gid(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    a.ah_attr.grh.sgid_index = 15;
    return rtr_tried(p, &a, RTR_RC);
}

static int qp_global(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    a.ah_attr.is_global = 0;
    return rtr_tried(p, &a, RTR_RC);
}

static int qp_depth(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    a.max_dest_rd_atomic = 255;
    return rtr_tried(p, &a, RTR_RC);
}

static int qp_range(struct pair *p)
{
    struct ibv_qp_attr a = rtr_attr(p, 1);

    a.min_rnr_timer = 32;
    return rtr_tried(p, &a, RTR_RC);
}

static int send_state(struct pair *p)
{
    struct ibv_qp *qp = qp_create(p, IBV_QPT_RC);
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);
    int err = send_post(qp, &wr);

    ibv_destroy_qp(qp);
    return err;
}

static int receive_state(struct pair *p)
{
    struct ibv_qp *qp = qp_create(p, IBV_QPT_RC);
    struct ibv_sge sge = sge_of(p, 8);
    int err = receive_post(qp, &sge, 1);

    ibv_destroy_qp(qp);
    return err;
}

static int receive_full(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    int err = 0;

    for (int i = 0; i <= RECEIVES && !err; i++)
        err = receive_post(p->b, &sge, 1);
    return err;
}

static int send_signaled(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_RDMA_WRITE);
    int err = 0;

    wr.send_flags = 0;
    for (int i = 0; i <= SENDS && !err; i++)
        err = send_post(p->a, &wr);
    return err;
}

static int sge_count(struct pair *p)
{
    struct ibv_sge list[3] = {sge_of(p, 8), sge_of(p, 8), sge_of(p, 8)};
    struct ibv_send_wr wr = send_of(p, list, IBV_WR_SEND);

    wr.num_sge = 3;
    return send_post(p->a, &wr);
}

static int opcode(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_RDMA_READ);

    return send_post(p->a, &wr);
}

static int inline_length(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 4096);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    wr.send_flags |= IBV_SEND_INLINE;
    return send_post(p->a, &wr);
}

static int inline_read(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_RDMA_READ);

    wr.send_flags |= IBV_SEND_INLINE;
    return send_post(p->a, &wr);
}

static struct ibv_send_wr datagram_of(const struct pair *p, struct ibv_sge *sge)
{
    struct ibv_send_wr wr = {
        .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};

    wr.wr.ud.ah = p->ah;
    wr.wr.ud.remote_qpn = p->b->qp_num;
    wr.wr.ud.remote_qkey = QKEY;
    return wr;
}

static int ud_length(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8192);
    struct ibv_send_wr wr = datagram_of(p, &sge);

    return send_post(p->a, &wr);
}

static int ud_address(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_send_wr wr = datagram_of(p, &sge);
    struct ibv_ah_attr to = rtr_attr(p, 0).ah_attr;
    struct ibv_ah *other = need(ibv_create_ah(p->other_pd, &to), "ibv_create_ah");
    int err;

    wr.wr.ud.ah = other;
    err = send_post(p->a, &wr);
    ibv_destroy_ah(other);
    return err;
}

/* Nobody hears of it: what came first is the datagram with the right key behind it. */
static int ud_qkey(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, 8), big = sge_of(p, 1024);
    struct ibv_send_wr wr = datagram_of(p, &sge);

    must(receive_post(p->b, &big, 1), "ibv_post_recv");
    wr.wr.ud.remote_qkey = 0x2222;
    must(sent(p, &wr), "a datagram");
    wr.wr.ud.remote_qkey = QKEY;
    must(sent(p, &wr), "a datagram");
    return status_of(p, p->b);
}

static int srq_receive(struct pair *p)
{
    struct ibv_srq_init_attr about = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq *srq = need(ibv_create_srq(p->pd, &about), "ibv_create_srq");
    struct ibv_qp_init_attr init = init_of(p, IBV_QPT_RC);
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_qp *qp;
    int err;

    init.srq = srq;
    qp = need(ibv_create_qp(p->pd, &init), "ibv_create_qp");
    err = receive_post(qp, &sge, 1);
    ibv_destroy_qp(qp);
    ibv_destroy_srq(srq);
    return err;
}

static int srq_limit(struct pair *p)
{
    struct ibv_srq_init_attr about = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq *srq = need(ibv_create_srq(p->pd, &about), "ibv_create_srq");
    struct ibv_srq_attr many = {.srq_limit = 100};
    int err = ibv_modify_srq(srq, &many, IBV_SRQ_LIMIT);

    ibv_destroy_srq(srq);
    return err;
}

/* More completions than entries: the queue fails, and so do its queue pairs. */
static int cq_full(struct pair *p)
{
    struct ibv_cq *small = need(ibv_create_cq(p->context, 1, NULL, NULL, 0), "ibv_create_cq");
    struct ibv_qp_init_attr init = init_of(p, IBV_QPT_RC);
    struct ibv_sge sge = sge_of(p, 8);
    struct ibv_async_event event;
    struct ibv_qp *qp;

    init.recv_cq = small;
    qp = need(ibv_create_qp(p->pd, &init), "ibv_create_qp");
    must(to_init(qp, 0), "ibv_modify_qp to INIT");
    for (int i = 0; i < 2; i++)
        must(receive_post(qp, &sge, 1), "ibv_post_recv");
    must(ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE),
         "ibv_modify_qp to ERR");
    must(ibv_get_async_event(p->context, &event), "ibv_get_async_event");
    ibv_ack_async_event(&event);
    ibv_destroy_qp(qp);
    ibv_destroy_cq(small);
    return (int)event.event_type;
}

/* Two reads are on their way at once, and the other end takes one. The answer to the first has
 * more bytes than there are slots for, so that it is still being sent. */
static int read_depth(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, SIZE / 2);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_RDMA_READ);
    int status = 0;

    for (int i = 0; i < SENDS; i++)
        must(send_post(p->a, &wr), "ibv_post_send");
    for (int i = 0; i < SENDS && !status; i++)
        status = status_of(p, p->a);
    return status;
}

static int message_length(struct pair *p)
{
    struct ibv_sge sge = sge_of(p, p->port.max_msg_sz + 1);
    struct ibv_send_wr wr = send_of(p, &sge, IBV_WR_SEND);

    return send_post(p->a, &wr);
}

static const struct rule {
    const char *name;
    enum ibv_qp_type type;
    int (*breaks)(struct pair *p);
    int gives;         /* an errno, a status of a completion, or an event */
    uint8_t rnr_retry; /* 0: 1 */
} rules[] = {
    {"lives", IBV_QPT_RC, lives, EINVAL, 0},
    {"limit", IBV_QPT_RC, limit, EINVAL, 0},
    {"in-use", IBV_QPT_RC, in_use, EBUSY, 0},
    {"events-acked", IBV_QPT_RC, events_acked, 0, 0},
    {"one-context", IBV_QPT_RC, one_context, EINVAL, 0},
    {"one-domain", IBV_QPT_RC, one_domain, IBV_WC_LOC_PROT_ERR, 0},
    {"mr-access", IBV_QPT_RC, mr_access, EINVAL, 0},
    {"mr-length", IBV_QPT_RC, mr_length, EINVAL, 0},
    {"mr-mapped", IBV_QPT_RC, mr_mapped, EFAULT, 0},
    {"mr-unmapped", IBV_QPT_RC, mr_unmapped, IBV_WC_LOC_PROT_ERR, 0},
    {"mr-key", IBV_QPT_RC, mr_key, IBV_WC_LOC_PROT_ERR, 0},
    {"mr-range", IBV_QPT_RC, mr_range, IBV_WC_LOC_PROT_ERR, 0},
    {"mr-local-write", IBV_QPT_RC, mr_local_write, EINVAL, 0},
    {"mr-requests", IBV_QPT_RC, mr_requests, 0, 0},
    {"send-unchanged", IBV_QPT_RC, send_unchanged, IBV_WC_SUCCESS, 7},
    {"remote-key", IBV_QPT_RC, remote_key, IBV_WC_REM_ACCESS_ERR, 0},
    {"remote-range", IBV_QPT_RC, remote_range, IBV_WC_REM_ACCESS_ERR, 0},
    {"remote-access", IBV_QPT_RC, remote_access, IBV_WC_REM_ACCESS_ERR, 0},
    {"remote-domain", IBV_QPT_RC, remote_domain, IBV_WC_REM_ACCESS_ERR, 0},
    {"remote-qp-access", IBV_QPT_RC, remote_qp_access, IBV_WC_REM_ACCESS_ERR, 0},
    {"atomic-aligned", IBV_QPT_RC, atomic_aligned, EINVAL, 0},
    {"atomic-length", IBV_QPT_RC, atomic_length, EINVAL, 0},
    {"read-depth", IBV_QPT_RC, read_depth, IBV_WC_REM_INV_REQ_ERR, 0},
    {"receive-length", IBV_QPT_RC, receive_length, IBV_WC_REM_INV_REQ_ERR, 0},
    {"receive-posted", IBV_QPT_RC, receive_posted, IBV_WC_RNR_RETRY_EXC_ERR, 0},
    {"qp-capability", IBV_QPT_RC, qp_capability, EINVAL, 0},
    {"qp-type", IBV_QPT_RC, qp_type, EOPNOTSUPP, 0},
    {"qp-transition", IBV_QPT_RC, qp_transition, EINVAL, 0},
    {"qp-mask-missing", IBV_QPT_RC, qp_mask_missing, EINVAL, 0},
    {"qp-mask-extra", IBV_QPT_RC, qp_mask_extra, EINVAL, 0},
    {"qp-port", IBV_QPT_RC, qp_port, EINVAL, 0},
    {"qp-pkey", IBV_QPT_RC, qp_pkey, EINVAL, 0},
    {"qp-mtu", IBV_QPT_RC, qp_mtu, EINVAL, 0},
    {"qp-gid", IBV_QPT_RC, qp_gid, EINVAL, 0},
    {"qp-global", IBV_QPT_RC, qp_global, EINVAL, 0},
    {"qp-depth", IBV_QPT_RC, qp_depth, EINVAL, 0},
    {"qp-range", IBV_QPT_RC, qp_range, EINVAL, 0},
    {"send-state", IBV_QPT_RC, send_state, EINVAL, 0},
    {"receive-state", IBV_QPT_RC, receive_state, EINVAL, 0},
    {"receive-full", IBV_QPT_RC, receive_full, ENOMEM, 0},
    {"send-signaled", IBV_QPT_RC, send_signaled, ENOMEM, 0},
    {"sge-count", IBV_QPT_RC, sge_count, EINVAL, 0},
    {"opcode", IBV_QPT_UC, opcode, EINVAL, 0},
    {"inline", IBV_QPT_RC, inline_length, EINVAL, 0},
    {"inline-read", IBV_QPT_RC, inline_read, EINVAL, 0},
    {"message-length", IBV_QPT_RC, message_length, EINVAL, 0},
    {"ud-length", IBV_QPT_UD, ud_length, EINVAL, 0},
    {"ud-address", IBV_QPT_UD, ud_address, EINVAL, 0},
    {"ud-qkey", IBV_QPT_UD, ud_qkey, IBV_WC_SUCCESS, 0},
    {"srq-receive", IBV_QPT_RC, srq_receive, EINVAL, 0},
    {"srq-limit", IBV_QPT_RC, srq_limit, EINVAL, 0},
    {"cq-full", IBV_QPT_RC, cq_full, IBV_EVENT_CQ_ERR, 0},
};

static bool is_named(const struct rule *r, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], r->name) == 0)
            return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct rule *r = &rules[i];
        struct pair p;
        int got;

        if (!is_named(r, argc - 1, argv + 1))
            continue;
        fprintf(stderr, "rule %s\n", r->name);
        pair_open(&p, r->type, r->rnr_retry ? r->rnr_retry : 1);
        got = r->breaks(&p);
        pair_close(&p);
        if (got != r->gives)
            status = 1;
        fprintf(stderr, "%s: got %d%s\n", r->name, got, got == r->gives ? "" : ", which is wrong");
    }
    return status;
}
