/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/queue_pair.h"

#include "common/failure_times.h"

#include <errno.h>
#include <sys/random.h>

enum { RNR_RETRIES_INFINITE = 7, RNR_TIMER = 12 /* 0.64 ms */ };
enum { PSN_MASK = 0xffffff, HOPS = 64 };

static struct ibv_qp *pair_try(enum queue_pair_kind kind, struct ibv_pd *domain,
                               struct ibv_cq *sends, struct ibv_cq *receives, uint32_t max_inline,
                               uint32_t *got_inline)
{
    struct ibv_qp_init_attr attr = {.send_cq = sends,
                                    .recv_cq = receives,
                                    .cap = {.max_send_wr = QUEUE_PAIR_SENDS,
                                            .max_recv_wr = QUEUE_PAIR_RECEIVES,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = max_inline},
                                    .qp_type = kind == QUEUE_PAIR_UC ? IBV_QPT_UC : IBV_QPT_RC,
                                    .sq_sig_all = 1};
    struct ibv_qp *qp = ibv_create_qp(domain, &attr);

    *got_inline = attr.cap.max_inline_data;
    return qp;
}

static bool pair_create(struct queue_pair *q, enum queue_pair_kind kind, struct ibv_pd *domain,
                        struct ibv_cq *sends, struct ibv_cq *receives)
{
    q->kind = kind;
    q->qp = pair_try(kind, domain, sends, receives, QUEUE_PAIR_INLINE, &q->max_inline);
    if (!q->qp)
        q->qp = pair_try(kind, domain, sends, receives, 0, &q->max_inline);
    return q->qp != NULL;
}

/* True if a resource has run out, so that a queue pair of another kind would fail as well. */
static bool is_shortage(int err)
{
    return err == ENOMEM || err == EAGAIN || err == ENOSPC || err == EBUSY;
}

int queue_pair_create(struct queue_pair *out, enum queue_pair_kind kind, const struct port *p,
                      struct ibv_pd *domain, struct ibv_cq *sends, struct ibv_cq *receives,
                      const struct explain_place *at, struct fault *why)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = (uint8_t)p->number,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct queue_pair q = {0};
    int err;

    if (!pair_create(&q, kind == QUEUE_PAIR_UC ? QUEUE_PAIR_UC : QUEUE_PAIR_RC, domain, sends,
                     receives)) {
        int refusal = errno;

        if (kind != QUEUE_PAIR_AUTO || is_shortage(refusal) ||
            !pair_create(&q, QUEUE_PAIR_UC, domain, sends, receives))
            return explain(why, EXPLAIN_PAIR, refusal, at);
    }
    err = ibv_modify_qp(q.qp, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (err) {
        explain(why, EXPLAIN_TO_INIT, err, at);
        ibv_destroy_qp(q.qp);
        return why ? why->code : ML_ERR_DEVICE;
    }
    if (getrandom(&q.psn, sizeof(q.psn), GRND_NONBLOCK) != sizeof(q.psn))
        q.psn = q.qp->qp_num * 2654435761U; /* it only has to differ from earlier ones */
    q.psn &= PSN_MASK;
    *out = q;
    return 0;
}

static int pair_to_rtr(struct queue_pair *q, const struct port *p, const struct gid *gid,
                       const struct queue_pair_end *peer)
{
    bool is_ethernet = p->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)peer->mtu,
        .dest_qp_num = peer->number,
        .rq_psn = peer->psn,
        .max_dest_rd_atomic = q->reads_in ? q->reads_in : 1,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           (q->takes_atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0),
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.dlid = peer->lid, .port_num = (uint8_t)p->number, .is_global = is_ethernet},
    };

    if (p->attr.active_mtu < attr.path_mtu)
        attr.path_mtu = p->attr.active_mtu;
    if (is_ethernet) {
        for (int i = 0; i < 16; i++)
            attr.ah_attr.grh.dgid.raw[i] = peer->gid.raw[i];
        attr.ah_attr.grh.sgid_index = (uint8_t)gid->index;
        attr.ah_attr.grh.hop_limit = HOPS;
    }
    return ibv_modify_qp(
        q->qp, &attr,
        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
            (q->reads_in ? IBV_QP_ACCESS_FLAGS : 0) |
            (q->kind == QUEUE_PAIR_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
}

int queue_pair_connect(struct queue_pair *q, const struct port *p, const struct gid *gid,
                       const struct queue_pair_end *peer, const struct explain_place *at,
                       struct fault *why)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
                               .sq_psn = q->psn,
                               .timeout = RC_TIMEOUT,
                               .retry_cnt = RC_RETRIES,
                               .rnr_retry = RNR_RETRIES_INFINITE,
                               .max_rd_atomic = q->reads_out ? q->reads_out : 1};
    int err = pair_to_rtr(q, p, gid, peer);

    if (err)
        return explain(why, EXPLAIN_TO_RTR, err, at);
    err =
        ibv_modify_qp(q->qp, &attr,
                      IBV_QP_STATE | IBV_QP_SQ_PSN |
                          (q->kind == QUEUE_PAIR_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                                          IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                                                    : 0));
    return err ? explain(why, EXPLAIN_TO_RTS, err, at) : 0;
}

void queue_pair_stop(struct queue_pair *q)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    /* If this fails, the device is lost and moves nothing more anyway. */
    (void)ibv_modify_qp(q->qp, &attr, IBV_QP_STATE);
}

void queue_pair_destroy(struct queue_pair *q)
{
    if (q->qp)
        ibv_destroy_qp(q->qp);
    q->qp = NULL;
}
