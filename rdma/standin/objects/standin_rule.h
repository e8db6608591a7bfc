/* SPDX-License-Identifier: MIT */
/*
 * standin_rule.h: the rules that the stand-in checks. Who breaks one gets the error that a device
 * gives, and one sentence on standard error: the object, what was asked, the rule and its source.
 * The first STANDIN_SAID sentences of a rule are said.
 */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_RULE_H
#define RDMA_STANDIN_OBJECTS_STANDIN_RULE_H

#include "rdma/standin/objects/standin_context.h"

enum { STANDIN_SAID = 5 };

enum standin_rule {
    RULE_LIVES, /* objects */
    RULE_LIMIT,
    RULE_IN_USE,
    RULE_EVENTS_ACKED,
    RULE_ONE_CONTEXT,
    RULE_ONE_DOMAIN,
    RULE_MR_ACCESS, /* memory */
    RULE_MR_LENGTH,
    RULE_MR_MAPPED,
    RULE_MR_KEY,
    RULE_MR_RANGE,
    RULE_MR_LOCAL_WRITE,
    RULE_MR_REQUESTS,
    RULE_SEND_UNCHANGED,
    RULE_REMOTE_KEY, /* what the other side finds */
    RULE_REMOTE_RANGE,
    RULE_REMOTE_ACCESS,
    RULE_REMOTE_DOMAIN,
    RULE_REMOTE_QP_ACCESS,
    RULE_ATOMIC_ALIGNED,
    RULE_ATOMIC_LENGTH,
    RULE_READ_DEPTH,
    RULE_RECEIVE_LENGTH,
    RULE_RECEIVE_POSTED,
    RULE_QP_CAPABILITY, /* queue pairs */
    RULE_QP_TYPE,
    RULE_QP_TRANSITION,
    RULE_QP_MASK_MISSING,
    RULE_QP_MASK_EXTRA,
    RULE_QP_PORT,
    RULE_QP_PKEY,
    RULE_QP_MTU,
    RULE_QP_GID,
    RULE_QP_GLOBAL,
    RULE_QP_DEPTH,
    RULE_QP_RANGE,
    RULE_SEND_STATE, /* work requests */
    RULE_RECEIVE_STATE,
    RULE_RECEIVE_FULL,
    RULE_SEND_SIGNALED,
    RULE_SGE_COUNT,
    RULE_OPCODE,
    RULE_INLINE,
    RULE_INLINE_READ,
    RULE_MESSAGE_LENGTH,
    RULE_UD_LENGTH,
    RULE_UD_ADDRESS,
    RULE_UD_QKEY,
    RULE_SRQ_RECEIVE,
    RULE_CQ_FULL, /* completions */
    RULE_SRQ_LIMIT,
    RULES,
};

/* Says that `object` (of device c; NULL: none) breaks the rule; the rest is what was asked, as for
 * printf. */
void standin_break(enum standin_rule rule, const struct standin_context *c, const char *object,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* True if the object lives; else says that `call` uses one that is destroyed. */
bool standin_lives(const struct standin_context *c, const struct standin_object *o,
                   const char *call);

#endif
