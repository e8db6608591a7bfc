/* SPDX-License-Identifier: MIT */
/*
 * link.h: an ordered two-way channel between this rank and one other rank of one group, as
 * transports (runtime/transport/) implement it, and the messages that are queued on it. Callers
 * that only send and receive use message_op.h.
 *
 * Each group owns its links, so groups never wait for each other and need no locks between them:
 * one thread at a time uses a group's links. Messages between two ranks match in the order in which
 * both sides start them. Each carries the call that it belongs to (struct call) in its header; the
 * receiver compares it with its own, so finding a mismatch takes no extra message.
 */
#ifndef RUNTIME_GROUP_LINK_H
#define RUNTIME_GROUP_LINK_H

#include "runtime/group/group.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_buffer;
struct json_t;
struct link_counters;
struct message;

enum message_op_what {
    MESSAGE_OP_SEND,   /* buf → peer */
    MESSAGE_OP_RECV,   /* peer → buf */
    MESSAGE_OP_REDUCE, /* buf[i] = with[i] op incoming[i], or incoming[i] op with[i] */
    MESSAGE_OP_LISTEN, /* matching.c: looks at the next message, for a receive from this rank; */
    MESSAGE_OP_LISTEN_ANY, /* only for receives from any rank */
};

/* One message to or from one peer. The caller owns the struct and its buffers, and leaves both
 * alone from message_op_start until the transfer is done. */
struct message_op {
    enum message_op_what what;
    int peer;               /* rank in the group; may be this rank itself */
    void *buf;              /* not written for MESSAGE_OP_SEND */
    const void *with;       /* MESSAGE_OP_REDUCE: the other operand; may equal buf */
    bool incoming_first;    /* MESSAGE_OP_REDUCE: the incoming operand is the left one */
    size_t size;            /* bytes, the same on both sides */
    uint8_t content;        /* a CALL_SEND's, as struct task has it */
    uint32_t tag;           /* a CALL_SEND's: 1 + its tag; 0: it has none */
    struct gpu_buffer *gpu; /* the bytes are its, and `buf` is nothing; or NULL. Only for links that
                             * take them, and MESSAGE_OP_SEND or _RECV. */
    /* kept by the link: */
    size_t
        moved; /* bytes of payload so far; of a MESSAGE_OP_REDUCE whole elements, unless an operator
                   * of the program combines them */
    bool header_moved;
    bool done;
    struct message_op *next; /* the link's queue */
};

/* True if it only looks for messages with tags. */
static inline bool message_op_listens(const struct message_op *t)
{
    return t->what == MESSAGE_OP_LISTEN || t->what == MESSAGE_OP_LISTEN_ANY;
}

/* What a transport implements. All of it is called by the one thread that uses the group. */
struct link;
struct link_ops {
    const char *name; /* for sentences: "tcp", "shared memory" */
    int spin_ns;      /* how long to spin for a short message before sleeping; 0: the usual time */
    bool takes_gpu;   /* messages whose bytes are on a GPU (gpu_buffer.h) */
    bool asks_kernel; /* progress is a system call, so a yield costs no more */
    int drain_ms;     /* data that a peer sent before its end may be under way while the last of it
                       * came no longer ago */
    bool tells_end;   /* l->ended is always set behind the data of a peer that leaves */
    /* Moves bytes of the transfers at the head of l->sends and l->recvs; each one that is finished
     * is marked done and taken off its queue (link_pop_send, link_pop_recv). Returns > 0 if
     * anything moved, 0 if not, ML_ERR_*. A peer that has closed its end is no error here: l->ended
     * is set, and wait.c asks the coordinator for the cause. */
    int (*progress)(struct link *l, struct fault *why);
    /* Prepares for a sleep: announces it to the peer if need be, and stores what to poll in up to 2
     * entries of p. Returns how many; -1: something is ready now, so don't sleep. `wake` is called
     * after either. */
    int (*sleep)(struct link *l, struct pollfd *p);
    void (*wake)(struct link *l);
    /* The group is broken, and its queued transfers are about to be dropped. Once this returns,
     * neither a device nor the peer touches their buffers. NULL: nothing does so between two calls
     * of progress. */
    void (*cancel)(struct link *l);
    /* True if the header of a message has arrived that no receive is queued for; copies it to *m,
     * and leaves it there. Called only if no receive is queued. NULL: none can. */
    bool (*look)(struct link *l, struct message *m);
    /* Called from time to time while a call waits: if the peer's host has not answered for long,
     * l->ended is set, and `reason` says so. NULL: the transport notices that itself. */
    void (*look_silent)(struct link *l);
    /* A JSON object that the peer sent through the coordinator (COORD_RELAY). NULL: this transport
     * sends none. */
    int (*on_relayed)(struct link *l, struct json_t *word, struct fault *why);
    /* Why an ended link has failed, owned by the link; used if the coordinator knows no cause.
     * NULL: never known. */
    const struct fault *(*reason)(const struct link *l);
    void (*close)(
        struct link *l); /* frees l and touches no buffer afterwards; takes half-made links */
};
struct link {
    const struct link_ops *ops;
    struct group *group;
    int peer;                              /* rank in the group */
    struct link_counters *counters;        /* rank_counters.h, or NULL */
    struct message_op *sends, **sends_end; /* queues of what is in flight */
    struct message_op *recvs, **recvs_end;
    bool active;      /* in g->active: something is queued */
    bool reads_ahead; /* set by its user, who always has a receive queued: what comes behind a short
                       * message may be taken with it */
    bool is_connecting; /* it has no connection yet; what answers the peer is the door (door.h) */
    bool ended;         /* by the peer: what is queued can't go on */
    bool is_told;       /* the coordinator was told that this rank can't reach the peer */
    bool is_over; /* the peer has left in good order: nothing comes for receives from any rank */
    enum peer_state gone; /* the peer, as the coordinator reported it */
    int64_t ended_at;     /* clock_ms, when this rank noticed; 0: not yet */
    int64_t gone_at;      /* the same; then, when something has moved last */
};

/* True if only receives from any rank wait for the peer. */
static inline bool link_waits_for_any(const struct link *l)
{
    return !l->sends && l->recvs && l->recvs->what == MESSAGE_OP_LISTEN_ANY;
}

/* For transports. */
void link_init(struct link *l, const struct link_ops *ops, struct group *g, int peer);
void link_pop_send(struct link *l); /* marks the first send done and removes it */
void link_pop_recv(struct link *l); /* the first receive */
/* Copies the next `size` bytes of payload into t's buffer, or reduces them into it (then whole
 * elements, or any bytes for an operator of the program), and advances t->moved. */
void link_take(const struct link *l, struct message_op *t, const void *from, size_t size);

#endif
