/* SPDX-License-Identifier: MIT */
/*
 * link.h: an ordered two-way channel between this rank and one other rank of one group, and the
 * messages ("transfers") on it. Collectives know only this file; tcp, shm and rdma stand behind it.
 *
 * Each group owns its links, so groups never wait for each other and need no locks between them.
 * Messages between two ranks match in the order in which both sides start them. Each carries the
 * call it belongs to (struct call) in its header; the receiver compares it with its own, so a
 * mismatch costs no message of its own.
 */
#ifndef RUNTIME_GROUP_LINK_H
#define RUNTIME_GROUP_LINK_H

#include "common/fault.h"
#include "common/mlaunch.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct group;
struct json_t;

/* Which call a message belongs to: what both sides must agree on. */
enum call_kind {
    CALL_BARRIER = 1,
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_REDUCE,
    CALL_ALL_GATHER,
    CALL_ALL_TO_ALL,
    CALL_BROADCAST,
    CALL_GATHER,
    CALL_SCATTER,
    CALL_SEND, /* recv, sendrecv too */
    CALL_SPLIT,
};
struct call {
    uint64_t count; /* elements, or bytes of a share; of a CALL_SEND the message's bytes */
    uint32_t seq;   /* the group's number of collective calls so far; 0 for CALL_SEND */
    uint8_t kind;
    uint8_t type; /* ml_type, or 0 */
    uint8_t op;   /* ml_op, or 0 */
    uint8_t zero;
    int32_t root; /* or -1 */
};

/* One message to or from one peer, in flight from transfer_start until it is done. The caller owns
 * the struct and the buffers and leaves both alone until then. */
enum transfer_what {
    TRANSFER_SEND,   /* buf → peer */
    TRANSFER_RECV,   /* peer → buf */
    TRANSFER_REDUCE, /* buf[i] = with[i] op incoming[i], or incoming[i] op with[i] */
};
struct transfer {
    enum transfer_what what;
    int peer;            /* rank in the group; may be this rank itself */
    void *buf;           /* not written for TRANSFER_SEND */
    const void *with;    /* TRANSFER_REDUCE: the other operand; may equal buf */
    bool incoming_first; /* TRANSFER_REDUCE: the incoming operand stands left of op */
    size_t size;         /* bytes, the same on both sides */
    /* kept by the link: */
    size_t moved; /* bytes of payload so far, a multiple of the element size */
    bool header_moved;
    bool done;
    struct transfer *next; /* the link's queue */
};

/* Starts n transfers of the group's current call (call_begin in call.h). Several sends, and
 * several receives, to one peer go in order. May already move bytes. */
int transfer_start(struct group *g, struct transfer *t, int n, struct fault *why);

/* Returns once all n are done, moving bytes on all of the group's links meanwhile; spins briefly,
 * then sleeps in poll() together with the coordinator's socket. In error (ML_ERR_PEER,
 * ML_ERR_MISMATCH, ML_ERR_LINK) nothing touches the buffers any more and the group is broken. */
int transfer_wait(struct group *g, struct transfer *t, int n, struct fault *why);

/* Moves what can be moved without waiting; *all_done tells whether all n are done. */
int transfer_test(struct group *g, struct transfer *t, int n, bool *all_done, struct fault *why);

/* Moves what can be moved, on all links; if that is nothing, waits a little or until something may
 * have happened: for whoever waits for more than one array of transfers. `w` as in wait.h. > 0 if
 * anything moved; in error as transfer_wait. */
struct waiting;
int transfer_step(struct group *g, struct waiting *w, struct fault *why);

/* Forgets all transfers: nothing touches their buffers any more. The group must be broken. */
void transfer_drop(struct group *g);

/* Both: the common case. */
int transfer_run(struct group *g, struct transfer *t, int n, struct fault *why);

/* What a transport gives. All of it is called with one thread at a time per group. */
struct link;
struct link_ops {
    const char *name; /* for sentences: "tcp", "shared memory" */
    int spin_ns;      /* to spin for a short message before sleeping; 0: as everywhere */
    bool asks_kernel; /* progress is a system call, which a yield costs no more than */
    int drain_ms;     /* how long what a peer sent before its end may still be under way */
    /* Move bytes of the transfers at the head of l->sends / l->recvs; each finished one is marked
     * done and taken off its queue (link_pop_send, link_pop_recv). Returns > 0 if anything moved, 0
     * if not, ML_ERR_*. A peer that has closed its end is no error here: l->ended is set, and the
     * wait asks the coordinator who that was and why. */
    int (*progress)(struct link *l, struct fault *why);
    /* About to sleep: announce it to the peer if need be, and name what to poll: up to 2 entries of
     * p. Returns how many; -1: something is ready now, don't sleep. */
    int (*sleep)(struct link *l, struct pollfd *p);
    void (*wake)(struct link *l); /* after the sleep */
    /* The group is broken, and what is queued is about to be dropped: once this returns neither a device
     * nor the peer touches its buffers. NULL: nobody does between calls of progress. */
    void (*cancel)(struct link *l);
    /* What the peer had the coordinator relay (COORD_RELAY), or NULL: this transport says nothing. */
    int (*hear)(struct link *l, struct json_t *word, struct fault *why);
    /* An ended link's own reason, once the coordinator has none for it; NULL: there is none. */
    const struct fault *(*reason)(const struct link *l);
    void (*close)(struct link *l); /* no buffer is touched after it; takes half-made links */
};
struct link {
    const struct link_ops *ops;
    struct group *group;
    int peer;                            /* rank in the group */
    struct transfer *sends, **sends_end; /* queues of what is in flight */
    struct transfer *recvs, **recvs_end;
    bool active;               /* in g->active: something is queued */
    bool ended;                /* by the peer: what is queued can't go on */
    int gone;                  /* enum peer_state (news.h): what the coordinator said of it */
    int64_t ended_at, gone_at; /* clock_ms, when that was noticed; 0: not yet */
};

/* For transports. */
void link_init(struct link *l, const struct link_ops *ops, struct group *g, int peer);
void link_pop_send(struct link *l); /* the first send is done */
void link_pop_recv(struct link *l); /* the first receive is done */
/* The next `size` payload bytes of a receive (whole elements, if it reduces) are copied, or reduced,
 * into its buffer, and counted. */
void link_take(const struct link *l, struct transfer *t, const void *from, size_t size);

#endif
