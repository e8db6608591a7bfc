/* SPDX-License-Identifier: MIT */
/*
 * ibv_modify_qp(): which attributes each transition needs and allows for each type of queue pair,
 * as the tables of ibv_modify_qp(3) and of the InfiniBand Architecture Specification (volume 1,
 * 11.2.5.2, "Modify queue pair") say it.
 */
#include "rdma/standin/library/standin_end.h"
#include "rdma/standin/library/standin_requester.h"
#include "rdma/standin/objects/standin_ah.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ANY = -1, PKEYS = 1, TIMER_MOST = 31, RETRIES_MOST = 7, STATES = IBV_QPS_ERR + 1 };

static const struct transition {
    int from, to; /* enum ibv_qp_state; ANY */
    enum ibv_qp_type type;
    int needs, allows;
} transitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_RC, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
     0},
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_UC, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
     0},
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPT_RC, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPT_UC, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPT_UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
    {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_RC,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UC,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_RC,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UC, IBV_QP_SQ_PSN,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UD, IBV_QP_SQ_PSN, IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPT_RC, 0,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPT_UC, 0,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPT_UD, 0, IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPT_RC, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPT_UC, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPT_UD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPT_RC, 0,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPT_UC, 0,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPT_UD, 0, IBV_QP_QKEY},
};

static const struct {
    int bit;
    const char *name;
} attributes[] = {
    {IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS"},
    {IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX"},
    {IBV_QP_PORT, "IBV_QP_PORT"},
    {IBV_QP_QKEY, "IBV_QP_QKEY"},
    {IBV_QP_AV, "IBV_QP_AV"},
    {IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU"},
    {IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT"},
    {IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT"},
    {IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY"},
    {IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN"},
    {IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC"},
    {IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH"},
    {IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER"},
    {IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN"},
    {IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC"},
    {IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE"},
    {IBV_QP_CAP, "IBV_QP_CAP"},
    {IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN"},
    {IBV_QP_EN_SQD_ASYNC_NOTIFY, "IBV_QP_EN_SQD_ASYNC_NOTIFY"},
};

static const char *const states[STATES] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

static const char *attribute_name(int mask)
{
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (mask & attributes[i].bit)
            return attributes[i].name;
    return "an attribute that does not exist";
}

/* --- what is asked ---------------------------------------------------------------------------- */

static int transition_check(const struct standin_qp *q, enum ibv_qp_state from,
                            enum ibv_qp_state to, int mask, const char *who)
{
    const struct standin_context *c = standin_qp_context(q);
    const int rest = mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
    const struct transition *t = transitions;
    const struct transition *end = transitions + sizeof(transitions) / sizeof(transitions[0]);

    if ((unsigned)to >= STATES) {
        standin_break(RULE_QP_TRANSITION, c, who, "ibv_modify_qp to state %d", to);
        return EINVAL;
    }
    /* From every state but one: a queue pair in RESET has nothing that could fail. */
    if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET)) {
        if (rest)
            standin_break(RULE_QP_MASK_EXTRA, c, who, "ibv_modify_qp to %s with %s", states[to],
                          attribute_name(rest));
        return rest ? EINVAL : 0;
    }
    while (t < end && (t->from != (int)from || t->to != (int)to || t->type != q->init.qp_type))
        t++;
    if (t == end) {
        standin_break(RULE_QP_TRANSITION, c, who, "ibv_modify_qp from %s to %s", states[from],
                      states[to]);
        return EINVAL;
    }
    if (t->needs & ~rest) {
        standin_break(RULE_QP_MASK_MISSING, c, who, "ibv_modify_qp from %s to %s without %s",
                      states[from], states[to], attribute_name(t->needs & ~rest));
        return EINVAL;
    }
    if (rest & ~(t->needs | t->allows)) {
        standin_break(RULE_QP_MASK_EXTRA, c, who, "ibv_modify_qp from %s to %s with %s",
                      states[from], states[to], attribute_name(rest & ~(t->needs | t->allows)));
        return EINVAL;
    }
    return 0;
}

static int range_check(const struct standin_context *c, const char *who, const char *name,
                       unsigned value, unsigned most)
{
    if (value <= most)
        return 0;
    standin_break(RULE_QP_RANGE, c, who, "%s = %u, of 0 to %u", name, value, most);
    return EINVAL;
}

static int values_check(const struct standin_qp *q, const struct ibv_qp_attr *a, int mask,
                        const char *who)
{
    const struct standin_context *c = standin_qp_context(q);
    const struct ibv_device_attr *limits = &c->device.attr;
    unsigned port = mask & IBV_QP_PORT ? a->port_num : q->attr.port_num;
    int err = 0;

    if (mask & IBV_QP_PORT && (port < 1 || port > limits->phys_port_cnt)) {
        standin_break(RULE_QP_PORT, c, who, "port_num = %u, of 1 to %u", port,
                      limits->phys_port_cnt);
        return EINVAL;
    }
    if (mask & IBV_QP_PKEY_INDEX && a->pkey_index >= PKEYS) {
        standin_break(RULE_QP_PKEY, c, who, "pkey_index = %u, of 0 to %d", a->pkey_index,
                      PKEYS - 1);
        return EINVAL;
    }
    if (mask & IBV_QP_PATH_MTU &&
        (a->path_mtu < IBV_MTU_256 || a->path_mtu > c->device.ports[port - 1].attr.active_mtu)) {
        standin_break(RULE_QP_MTU, c, who, "path_mtu = %u bytes, where the port has %u",
                      standin_mtu_bytes(a->path_mtu),
                      standin_mtu_bytes(c->device.ports[port - 1].attr.active_mtu));
        return EINVAL;
    }
    if (mask & IBV_QP_AV)
        err = standin_ah_check(c, &a->ah_attr, who);
    if (!err && mask & IBV_QP_MAX_QP_RD_ATOMIC && a->max_rd_atomic > limits->max_qp_init_rd_atom) {
        standin_break(RULE_QP_DEPTH, c, who, "max_rd_atomic = %u, of at most %d", a->max_rd_atomic,
                      limits->max_qp_init_rd_atom);
        err = EINVAL;
    }
    if (!err && mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
        a->max_dest_rd_atomic > limits->max_qp_rd_atom) {
        standin_break(RULE_QP_DEPTH, c, who, "max_dest_rd_atomic = %u, of at most %d",
                      a->max_dest_rd_atomic, limits->max_qp_rd_atom);
        err = EINVAL;
    }
    if (!err && mask & IBV_QP_MIN_RNR_TIMER)
        err = range_check(c, who, "min_rnr_timer", a->min_rnr_timer, TIMER_MOST);
    if (!err && mask & IBV_QP_TIMEOUT)
        err = range_check(c, who, "timeout", a->timeout, TIMER_MOST);
    if (!err && mask & IBV_QP_RETRY_CNT)
        err = range_check(c, who, "retry_cnt", a->retry_cnt, RETRIES_MOST);
    if (!err && mask & IBV_QP_RNR_RETRY)
        err = range_check(c, who, "rnr_retry", a->rnr_retry, RETRIES_MOST);
    return err;
}

/* --- what is done ----------------------------------------------------------------------------- */

static void values_take(struct standin_qp *q, const struct ibv_qp_attr *a, int mask)
{
    struct ibv_qp_attr *mine = &q->attr;

    if (mask & IBV_QP_ACCESS_FLAGS)
        mine->qp_access_flags = a->qp_access_flags;
    if (mask & IBV_QP_PKEY_INDEX)
        mine->pkey_index = a->pkey_index;
    if (mask & IBV_QP_PORT)
        mine->port_num = a->port_num;
    if (mask & IBV_QP_QKEY)
        mine->qkey = a->qkey;
    if (mask & IBV_QP_AV)
        mine->ah_attr = a->ah_attr;
    if (mask & IBV_QP_PATH_MTU) {
        mine->path_mtu = a->path_mtu;
        q->mtu = standin_mtu_bytes(a->path_mtu);
    }
    if (mask & IBV_QP_TIMEOUT)
        mine->timeout = a->timeout;
    if (mask & IBV_QP_RETRY_CNT)
        q->sender.retries = mine->retry_cnt = a->retry_cnt;
    if (mask & IBV_QP_RNR_RETRY)
        q->sender.rnr_retries = mine->rnr_retry = a->rnr_retry;
    if (mask & IBV_QP_RQ_PSN)
        q->receiver.expected = mine->rq_psn = a->rq_psn & STANDIN_PSN_MASK;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
        mine->max_rd_atomic = a->max_rd_atomic;
    if (mask & IBV_QP_MIN_RNR_TIMER)
        mine->min_rnr_timer = a->min_rnr_timer;
    if (mask & IBV_QP_SQ_PSN)
        q->sender.psn = q->sender.sent = q->sender.acked = mine->sq_psn =
            a->sq_psn & STANDIN_PSN_MASK;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
        mine->max_dest_rd_atomic = a->max_dest_rd_atomic;
    if (mask & IBV_QP_DEST_QPN)
        mine->dest_qp_num = a->dest_qp_num;
}

static void state_set(struct standin_qp *q, enum ibv_qp_state to)
{
    struct ibv_qp *verbs = standin_qp_verbs(q);

    if (to == IBV_QPS_ERR) {
        standin_answers_drop(q);
        standin_qp_flush(q);
        return;
    }
    if (to == IBV_QPS_RESET) {
        standin_qp_reset(q);
        return;
    }
    if (q->init.qp_type == IBV_QPT_UD)
        q->mtu = standin_mtu_bytes(
            standin_qp_context(q)->device.ports[q->attr.port_num - 1].attr.active_mtu);
    verbs->state = to;
    if (to == IBV_QPS_RTS)
        standin_requester_run(q);
}

int ibv_modify_qp(struct ibv_qp *verbs, struct ibv_qp_attr *attr, int mask)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_qp *q = standin_qp_of(verbs);
    char who[STANDIN_TEXT];
    enum ibv_qp_state to;
    int err = 0;

    standin_lock(c);
    standin_name_qp(q, who);
    to = mask & IBV_QP_STATE ? attr->qp_state : verbs->state;
    if (!standin_lives(c, &q->object, "ibv_modify_qp")) {
        err = EINVAL;
    } else if (c->is_broken && to != IBV_QPS_RESET && to != IBV_QPS_ERR) {
        err = EIO; /* its state is not what the program left it in */
    } else if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != verbs->state) {
        standin_break(RULE_QP_TRANSITION, c, who, "cur_qp_state = %s, and it is in %s",
                      states[attr->cur_qp_state % STATES], states[verbs->state]);
        err = EINVAL;
    } else {
        err = transition_check(q, verbs->state, to, mask, who);
    }
    if (!err)
        err = values_check(q, attr, mask, who);
    if (!err) {
        values_take(q, attr, mask);
        state_set(q, to);
    }
    standin_unlock(c);
    return err;
}
