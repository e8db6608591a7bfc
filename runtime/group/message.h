/* SPDX-License-Identifier: MIT */
/* message.h: the header in front of every transfer's payload (doc/protocol.md, "Messages"). */
#ifndef RUNTIME_GROUP_MESSAGE_H
#define RUNTIME_GROUP_MESSAGE_H

#include "runtime/group/group.h"
#include "runtime/group/link.h"

#include <string.h>

struct message {
    uint64_t count;
    uint32_t seq;
    uint8_t kind;
    uint8_t type;
    uint8_t op;
    uint8_t magic;
    int32_t root;     /* or a CALL_SEND's tag, -1 without one */
    uint32_t history; /* as struct call has it */
    uint64_t size;    /* bytes of payload */
};
_Static_assert(sizeof(struct message) == 32, "drawn in doc/protocol.md");

enum { MESSAGE_MAGIC = 0x4d };

/* The tag of a transfer that no message fits (matching.c). */
#define MESSAGE_LISTENER UINT32_MAX

/* The header of `t`, as its sender writes it and its receiver expects it. */
static inline void message_fill(struct message *m, const struct call *c, const struct message_op *t)
{
    m->count = c->kind == CALL_SEND ? t->size : c->count;
    m->seq = c->seq;
    m->kind = c->kind;
    m->type = c->kind == CALL_SEND ? t->content : c->type;
    m->op = c->op;
    m->magic = MESSAGE_MAGIC;
    m->root = c->kind == CALL_SEND ? (int32_t)(t->tag - 1) : c->root;
    m->history = c->history;
    m->size = t->size;
}

/* True if the header that came is the one that its receiver `t` expects. */
static inline bool message_is_wanted(const struct group *g, const struct message *came,
                                     const struct message_op *t)
{
    struct message want;

    message_fill(&want, &g->call, t);
    return memcmp(came, &want, sizeof(want)) == 0;
}

/* True if it is the header of a message with a tag. */
bool message_has_tag(const struct message *m);

/* Fails with ML_ERR_MISMATCH: the message of `t` has another type than its receiver's content. */
int message_types_differ(const struct group *g, const struct message_op *t, uint8_t content,
                         struct fault *why);

/* Compares the header that came from t->peer with what its receiver `t` expects. Content whose type
 * one side does not say fits every type. Returns 0, ML_ERR_MISMATCH naming both calls, or
 * ML_ERR_LINK if the bytes are no header at all. */
int message_check(const struct group *g, const struct message *came, const struct message_op *t,
                  struct fault *why);

/* The same for a header from rank `peer` that nothing waits for. Returns 0 if it may belong to a
 * later part of the call under way, to a later call, or to a message that is not received yet; a
 * message of an earlier call would have been received by now. */
int message_check_early(const struct group *g, const struct message *came, int peer,
                        struct fault *why);

/* "all_reduce of 1000 float32 (sum)": a call in words. */
enum { MESSAGE_TEXT = 160 };
void message_describe(const struct message *m, char text[MESSAGE_TEXT]);
/* The same without the type of what is moved, which the peer may not say. */
void message_describe_untyped(const struct message *m, char text[MESSAGE_TEXT]);

#endif
