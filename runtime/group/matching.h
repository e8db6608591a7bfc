/* SPDX-License-Identifier: MIT */
/*
 * matching.h: which receive a message with a tag belongs to.
 *
 * A link reads one message after the other, and the sender chooses their order. So a message with a
 * tag may come while its receiver waits for something that was sent after it. Then it is read into
 * memory, as an early message, until a receive asks for it. If nothing waits on a link but receives
 * by tag, a listener takes the place of a transfer in its queue: the next message is looked at, and
 * left unread if it is not for any of them.
 *
 * Only the thread that has the group may call these functions.
 */
#ifndef RUNTIME_GROUP_MATCHING_H
#define RUNTIME_GROUP_MATCHING_H

#include "runtime/group/message.h"

struct early_message;

/* A receive by tag, or a probe. The caller owns it until it is done. */
struct tagged_receive {
    int from; /* rank in the group, or ML_ANY */
    int tag;  /* or ML_ANY */
    void *buf;
    size_t size;            /* bytes at buf; what comes may be shorter */
    struct gpu_buffer *gpu; /* a late one (gpu_buffer.h) in the place of buf, or NULL */
    uint8_t content;        /* as struct task has it */
    bool probes;            /* leaves the message where it is */
    bool tries;             /* a probe that does not wait */
    /* kept by matching.c: */
    ml_status found; /* once is_matched */
    bool is_matched, is_done, has_looked;
    struct message_op t;         /* the message comes into buf, */
    struct early_message *early; /* or it had come before the receive */
    struct tagged_receive *next;
};

/* For transports: the header *came of a message has arrived on `l`, which has a receive. Returns 1
 * if the message belongs to the first of l->recvs, which may be another one than before; 0 if it
 * must stay unread, and nothing may be queued any more; as message_check ML_ERR_MISMATCH or
 * ML_ERR_LINK; or ML_ERR_MEMORY. */
int matching_find(struct link *l, const struct message *came, struct fault *why);
static inline int matching_accept(struct link *l, const struct message *came, struct fault *why)
{
    if (__builtin_expect(message_is_wanted(l->group, came, l->recvs), 1))
        return 1;
    return matching_find(l, came, why);
}

/* Begins r. In error, as matching_accept, r is forgotten. */
int matching_post(struct group *g, struct tagged_receive *r, struct fault *why);

/* Prepares the links for the receives that are not matched; call it before each message_op_step.
 * ML_ERR_PEER: one of them can't be matched any more. */
int matching_listen(struct group *g, struct fault *why);

/* True once r is done; then r->found is valid if r->is_matched. */
bool matching_is_done(struct group *g, struct tagged_receive *r);

/* Fails if r, which a call waits for while nothing else is under way, can't be matched because of
 * the message that its rank has sent before. */
int matching_check(const struct group *g, const struct tagged_receive *r, struct fault *why);

/* A message with a tag to this rank itself. */
int matching_send_self(struct group *g, const struct message_op *t, struct fault *why);

/* Forgets r, or all receives of a group that broke (after message_op_drop). */
void matching_withdraw(struct group *g, struct tagged_receive *r);
void matching_drop(struct group *g);

/* Frees what matching_post and matching_accept made. */
void matching_close(struct group *g);

#endif
