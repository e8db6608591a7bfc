/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_create.h"

#include "rdma/standin/library/standin_end.h"
#include "rdma/standin/library/standin_wr.h"
#include "rdma/standin/objects/standin_completion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- its making ------------------------------------------------------------------------------- */

static int create_check(const struct standin_context *c, const struct ibv_pd *pd,
                        const struct ibv_qp_init_attr *a)
{
    const struct ibv_device_attr *limits = &c->device.attr;
    const struct ibv_qp_cap *cap = &a->cap;

    if (!standin_lives(c, &((const struct standin_pd *)pd)->object, "ibv_create_qp") ||
        !a->send_cq || !a->recv_cq ||
        !standin_lives(c, &standin_cq(a->send_cq)->object, "ibv_create_qp") ||
        !standin_lives(c, &standin_cq(a->recv_cq)->object, "ibv_create_qp") ||
        (a->srq && !standin_lives(c, &((struct standin_srq *)a->srq)->object, "ibv_create_qp")))
        return EINVAL;
    if (a->send_cq->context != pd->context || a->recv_cq->context != pd->context ||
        (a->srq && a->srq->context != pd->context)) {
        standin_break(RULE_ONE_CONTEXT, c, "queue pair",
                      "ibv_create_qp with queues of another context");
        return EINVAL;
    }
    if (a->qp_type > 31 || !(c->device.qp_types & 1U << a->qp_type)) {
        standin_break(RULE_QP_TYPE, c, "queue pair", "ibv_create_qp of type %d", a->qp_type);
        return EOPNOTSUPP;
    }
    if (cap->max_send_wr > (uint32_t)limits->max_qp_wr ||
        cap->max_recv_wr > (uint32_t)limits->max_qp_wr ||
        cap->max_send_sge > (uint32_t)limits->max_sge ||
        cap->max_recv_sge > (uint32_t)limits->max_sge ||
        cap->max_inline_data > c->device.max_inline) {
        standin_break(
            RULE_QP_CAPABILITY, c, "queue pair",
            "ibv_create_qp of %u sends, %u receives, %u and %u elements, %u bytes inline, "
            "of at most %d, %d, %d, %d and %u",
            cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge, cap->max_recv_sge,
            cap->max_inline_data, limits->max_qp_wr, limits->max_qp_wr, limits->max_sge,
            limits->max_sge, c->device.max_inline);
        return EINVAL;
    }
    return 0;
}

/* The index of a new queue pair; a number is used again as late as possible. 0: none is free. */
static uint32_t qp_index(struct standin_context *c)
{
    for (uint32_t i = 0; i < FABRIC_QPS_MOST; i++) {
        c->qp_last = c->qp_last % FABRIC_QPS_MOST + 1;
        if (!c->qps[c->qp_last]) {
            if (c->qp_last > c->qp_most)
                c->qp_most = c->qp_last;
            return c->qp_last;
        }
    }
    return 0;
}

static void qp_memory_free(const struct standin_context *c, struct standin_qp *q)
{
    standin_wr_close(q);
    for (uint32_t i = 0; q->sender.sends && i < q->init.cap.max_send_wr; i++)
        free(q->sender.sends[i].inlined);
    free(q->sender.sends);
    free(q->sender.elements);
    q->sender.sends = NULL;
    q->sender.elements = NULL;
    standin_receives_close(c, &q->receiver.receives);
}

static bool qp_memory(const struct standin_context *c, struct standin_qp *q)
{
    const struct ibv_qp_cap *cap = &q->init.cap;
    size_t count = cap->max_send_wr ? cap->max_send_wr : 1;

    q->sender.sends = calloc(count, sizeof(*q->sender.sends));
    q->sender.elements = calloc(count * cap->max_send_sge, sizeof(*q->sender.elements));
    if (q->sender.sends && q->sender.elements &&
        (q->init.srq ||
         standin_receives_open(&q->receiver.receives, cap->max_recv_wr, cap->max_recv_sge)) &&
        standin_wr_open(q))
        return true;
    qp_memory_free(c, q);
    return false;
}

static void users_add(const struct ibv_qp_init_attr *init, struct ibv_pd *pd, int by)
{
    standin_pd(pd)->users += by;
    standin_cq(init->send_cq)->users += by;
    standin_cq(init->recv_cq)->users += by;
    if (init->srq)
        ((struct standin_srq *)init->srq)->users += by;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct standin_context *c = standin_context(pd->context);
    struct standin_qp *q = NULL;
    uint32_t index = 0;
    int err;

    standin_lock(c);
    err = create_check(c, pd, init);
    if (!err && !(index = qp_index(c)))
        err = ENOMEM;
    if (!err) {
        q = standin_object_create(c, STANDIN_QP, sizeof(*q), offsetof(struct standin_qp, object),
                                  c->device.attr.max_qp);
        err = q ? 0 : errno;
    }
    if (q) {
        struct ibv_qp *verbs = standin_qp_verbs(q);

        q->init = *init;
        if (!q->init.cap.max_send_sge)
            q->init.cap.max_send_sge = 1;
        if (!q->init.cap.max_recv_sge)
            q->init.cap.max_recv_sge = 1;
        verbs->context = pd->context;
        verbs->pd = pd;
        verbs->qp_context = init->qp_context;
        verbs->send_cq = init->send_cq;
        verbs->recv_cq = init->recv_cq;
        verbs->srq = init->srq;
        verbs->qp_type = init->qp_type;
        verbs->state = IBV_QPS_RESET;
        verbs->handle = index;
        verbs->qp_num = c->device.context << FABRIC_CONTEXT_SHIFT | index;
        pthread_mutex_init(&verbs->mutex, NULL);
        pthread_cond_init(&verbs->cond, NULL);
        standin_qp_begin(q);
        if (qp_memory(c, q)) {
            users_add(init, pd, 1);
            c->qps[index] = q;
            init->cap = q->init.cap;
        } else {
            standin_object_destroy(c, &q->object);
            q = NULL;
            err = ENOMEM;
        }
    }
    standin_unlock(c);
    errno = err ? err : errno;
    return q ? standin_qp_verbs(q) : NULL;
}

int ibv_destroy_qp(struct ibv_qp *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_qp *q = standin_qp_of(verbs);
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &q->object, "ibv_destroy_qp")) {
        err = EINVAL;
    } else {
        standin_qp_reset(q);
        standin_events_forget(c, verbs);
        users_add(&q->init, verbs->pd, -1);
        qp_memory_free(c, q);
        c->qps[verbs->handle] = NULL;
        standin_object_destroy(c, &q->object);
    }
    standin_unlock(c);
    return err;
}

int ibv_query_qp(struct ibv_qp *verbs, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    struct standin_context *c = standin_context(verbs->context);
    const struct standin_qp *q = standin_qp_of(verbs);
    int err = 0;

    (void)mask; /* all is given, as it may be */
    standin_lock(c);
    if (!standin_lives(c, &q->object, "ibv_query_qp")) {
        err = EINVAL;
    } else {
        *attr = q->attr;
        attr->qp_state = attr->cur_qp_state = verbs->state;
        attr->cap = q->init.cap;
        attr->sq_psn = q->sender.psn;
        attr->rq_psn = q->receiver.expected;
        *init = q->init;
        init->qp_context = verbs->qp_context;
    }
    standin_unlock(c);
    return err;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags)
{
    (void)qp, (void)opcode, (void)flags;
    return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return standin_qp_of(qp)->is_ex ? &standin_qp_of(qp)->verbs : NULL;
}

/* The flags of ibv_create_qp_ex() that are known: a domain, and what will be sent. */
struct ibv_qp *standin_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *ex)
{
    const uint64_t known = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                           IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                           IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                           IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    struct ibv_qp_init_attr init = {.qp_context = ex->qp_context,
                                    .send_cq = ex->send_cq,
                                    .recv_cq = ex->recv_cq,
                                    .srq = ex->srq,
                                    .cap = ex->cap,
                                    .qp_type = ex->qp_type,
                                    .sq_sig_all = ex->sq_sig_all};
    struct ibv_qp *qp;

    if (ex->comp_mask & ~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
        !(ex->comp_mask & IBV_QP_INIT_ATTR_PD) || ex->pd->context != context ||
        (ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && ex->send_ops_flags & ~known)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    qp = ibv_create_qp(ex->pd, &init);
    if (qp) {
        ex->cap = init.cap;
        standin_qp_of(qp)->is_ex = ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    }
    return qp;
}
