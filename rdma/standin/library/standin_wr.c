/* SPDX-License-Identifier: MIT */
/*
 * ibv_wr_start(3): work requests that are built by calls between a start and an end, on queue pairs
 * that ibv_create_qp_ex() has made. They become a list for ibv_post_send().
 */
#include "rdma/standin/library/standin_wr.h"

#include "rdma/standin/library/standin_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct standin_qp *of(struct ibv_qp_ex *ex)
{
    return (struct standin_qp *)ex;
}

/* The request that is being built; NULL: there is none, or the queue has no more. */
static struct ibv_send_wr *last(struct standin_qp *q)
{
    return q->built.count ? &q->built.list[q->built.count - 1] : NULL;
}

static struct ibv_send_wr *add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
    struct standin_qp *q = of(ex);
    struct ibv_send_wr *wr;

    if ((uint32_t)q->built.count == q->init.cap.max_send_wr) {
        q->built.error = ENOMEM;
        return last(q);
    }
    wr = &q->built.list[q->built.count++];
    *wr = (struct ibv_send_wr){
        .wr_id = ex->wr_id, .opcode = opcode, .send_flags = ex->wr_flags & ~IBV_SEND_INLINE};
    if (q->built.count > 1)
        wr[-1].next = wr;
    return wr;
}

static void wr_start(struct ibv_qp_ex *ex)
{
    struct standin_qp *q = of(ex);

    pthread_mutex_lock(&q->verbs.qp_base.mutex);
    q->built.count = 0;
    q->built.error = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
    struct standin_qp *q = of(ex);
    struct ibv_send_wr *bad;
    int err = q->built.error;

    if (!err && q->built.count)
        err = standin_post_send(&ex->qp_base, q->built.list, &bad);
    pthread_mutex_unlock(&q->verbs.qp_base.mutex);
    return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
    pthread_mutex_unlock(&of(ex)->verbs.qp_base.mutex);
}

/* --- what is asked ---------------------------------------------------------------------------- */

static void wr_send(struct ibv_qp_ex *ex)
{
    add(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 immediate)
{
    struct ibv_send_wr *wr = add(ex, IBV_WR_SEND_WITH_IMM);

    if (wr)
        wr->imm_data = immediate;
}

static void remote_add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
                       uint64_t address)
{
    struct ibv_send_wr *wr = add(ex, opcode);

    if (wr) {
        wr->wr.rdma.remote_addr = address;
        wr->wr.rdma.rkey = rkey;
    }
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
    remote_add(ex, IBV_WR_RDMA_WRITE, rkey, address);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
                              __be32 immediate)
{
    remote_add(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address);
    if (last(of(ex)))
        last(of(ex))->imm_data = immediate;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
    remote_add(ex, IBV_WR_RDMA_READ, rkey, address);
}

static void atomic_add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
                       uint64_t address, uint64_t compare_add, uint64_t swap)
{
    struct ibv_send_wr *wr = add(ex, opcode);

    if (wr) {
        wr->wr.atomic.remote_addr = address;
        wr->wr.atomic.rkey = rkey;
        wr->wr.atomic.compare_add = compare_add;
        wr->wr.atomic.swap = swap;
    }
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
                              uint64_t compare, uint64_t swap)
{
    atomic_add(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, uint64_t by)
{
    atomic_add(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, by, 0);
}

/* --- where and with what bytes ---------------------------------------------------------------- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t number, uint32_t key)
{
    struct ibv_send_wr *wr = last(of(ex));

    if (wr) {
        wr->wr.ud.ah = ah;
        wr->wr.ud.remote_qpn = number;
        wr->wr.ud.remote_qkey = key;
    }
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
    struct standin_qp *q = of(ex);
    struct ibv_send_wr *wr = last(q);

    if (!wr)
        return;
    if (count > q->init.cap.max_send_sge) {
        q->built.error = EINVAL;
        return;
    }
    wr->sg_list = q->built.elements + (size_t)(q->built.count - 1) * q->init.cap.max_send_sge;
    wr->num_sge = (int)count;
    memcpy(wr->sg_list, list, count * sizeof(*list));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t address, uint32_t length)
{
    const struct ibv_sge one = {address, length, lkey};

    wr_set_sge_list(ex, length != 0, &one);
}

/* Inline bytes may change after this call, so they are copied, into the place that each request
 * has. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
                                    const struct ibv_data_buf *list)
{
    struct standin_qp *q = of(ex);
    unsigned char *at = q->built.inlined + (size_t)(q->built.count ? q->built.count - 1 : 0) *
                                               q->init.cap.max_inline_data;
    struct ibv_sge whole = {.addr = (uintptr_t)at};

    for (size_t i = 0; i < count; i++) {
        if (list[i].length > q->init.cap.max_inline_data - whole.length) {
            q->built.error = EINVAL;
            return;
        }
        memcpy(at + whole.length, list[i].addr, list[i].length);
        whole.length += (uint32_t)list[i].length;
    }
    wr_set_sge_list(ex, whole.length != 0, &whole);
    if (last(q))
        last(q)->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *address, size_t length)
{
    const struct ibv_data_buf one = {address, length};

    wr_set_inline_data_list(ex, 1, &one);
}

/* --- the functions ---------------------------------------------------------------------------- */

bool standin_wr_open(struct standin_qp *q)
{
    const struct ibv_qp_cap *cap = &q->init.cap;
    size_t count = cap->max_send_wr ? cap->max_send_wr : 1;

    q->built.list = calloc(count, sizeof(*q->built.list));
    q->built.elements = calloc(count * cap->max_send_sge, sizeof(*q->built.elements));
    q->built.inlined = calloc(count, cap->max_inline_data + 1);
    q->verbs.wr_start = wr_start;
    q->verbs.wr_complete = wr_complete;
    q->verbs.wr_abort = wr_abort;
    q->verbs.wr_send = wr_send;
    q->verbs.wr_send_imm = wr_send_imm;
    q->verbs.wr_rdma_write = wr_rdma_write;
    q->verbs.wr_rdma_write_imm = wr_rdma_write_imm;
    q->verbs.wr_rdma_read = wr_rdma_read;
    q->verbs.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    q->verbs.wr_atomic_fetch_add = wr_atomic_fetch_add;
    q->verbs.wr_set_ud_addr = wr_set_ud_addr;
    q->verbs.wr_set_sge = wr_set_sge;
    q->verbs.wr_set_sge_list = wr_set_sge_list;
    q->verbs.wr_set_inline_data = wr_set_inline_data;
    q->verbs.wr_set_inline_data_list = wr_set_inline_data_list;
    return q->built.list && q->built.elements && q->built.inlined;
}

void standin_wr_close(struct standin_qp *q)
{
    free(q->built.list);
    free(q->built.elements);
    free(q->built.inlined);
    q->built.list = NULL;
    q->built.elements = NULL;
    q->built.inlined = NULL;
}
