/* SPDX-License-Identifier: MIT */
/*
 * standin_context.h: an open device of the stand-in, which is a connection to the fabric
 * (rdma/standin/fabric_message.h), and a thread that serves it: it takes what arrives, as a
 * device would, and looks at deadlines.
 *
 * One lock a context guards all of its objects. Functions of this folder expect it to be held if
 * they take a struct standin_…; those of the verbs' names take it themselves.
 *
 * What a program destroys is kept until the context closes, so that its use afterwards is named
 * (standin_rule.h) rather than wrong memory.
 */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_CONTEXT_H
#define RDMA_STANDIN_OBJECTS_STANDIN_CONTEXT_H

#include "rdma/standin/fabric_message.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stddef.h>

enum standin_kind {
    STANDIN_PD = 1,
    STANDIN_MR,
    STANDIN_CQ,
    STANDIN_CHANNEL,
    STANDIN_QP,
    STANDIN_SRQ,
    STANDIN_AH,
    STANDIN_KINDS,
};

/* The part that all objects have. */
struct standin_object {
    enum standin_kind kind;
    bool is_dead;
    struct standin_object *next; /* in the list of all that the context frees */
    void *memory;                /* what is freed then */
};

/* A segment's bytes, until its receiver has read them or it is lost. */
struct standin_slot {
    bool is_used;
    bool is_request;  /* else an answer */
    uint32_t context; /* the receiver's */
    uint32_t qp;      /* the sender's queue pair */
    uint32_t psn;     /* the first packet's number */
};

struct standin_arena {
    int fd;
    unsigned char *bytes; /* FABRIC_ARENA_SIZE */
    struct standin_slot slots[FABRIC_SLOTS];
    int used;
    bool is_wanted; /* a queue pair waits for a slot */
};

struct standin_message {
    struct standin_message *next;
    size_t size;
    struct fabric_segment segment; /* the longest that is sent after FABRIC_HELLO */
};

struct standin_context {
    pthread_mutex_t lock;
    struct fabric_device device;
    int fabric, wake; /* the connection, and an eventfd that wakes the thread */
    struct standin_message *first, **last; /* what the connection had no room for */
    pthread_t thread;
    bool is_threaded, is_closing, is_broken;
    void (*on_break)(struct standin_context *c); /* queue pairs fail */
    void (*on_cq_full)(struct standin_context *c, struct ibv_cq *cq);
    int events;                 /* the end of the pipe whose other end is async_fd */
    int created[STANDIN_KINDS]; /* how many live */
    struct standin_object *objects;
    struct standin_qp *qps[FABRIC_QPS_MOST + 1]; /* by index */
    uint32_t qp_last;                            /* the index that was given out last */
    uint32_t qp_most;                            /* the highest index that was ever given out */
    struct standin_mr **mrs;                     /* by index */
    uint32_t mr_count, mr_key;
    struct standin_arena arena;
    const unsigned char *peers[FABRIC_CONTEXTS_MOST + 1]; /* arenas by context */
    struct verbs_context verbs;                           /* last, as verbs.h has it */
};

static inline struct standin_context *standin_context(struct ibv_context *context)
{
    return (struct standin_context *)((char *)context -
                                      offsetof(struct standin_context, verbs.context));
}

/* What the fabric reads. */
static inline struct fabric_objects *standin_objects_of(const struct standin_context *c)
{
    return (struct fabric_objects *)(void *)(c->arena.bytes + FABRIC_OBJECTS_AT);
}

void standin_lock(struct standin_context *c);
void standin_unlock(struct standin_context *c);

/* A new object of `size` bytes, zero, whose struct standin_object lies at `offset`; NULL with errno
 * if there is no memory, or the device has `most` already. */
void *standin_object_create(struct standin_context *c, enum standin_kind kind, size_t size,
                            size_t offset, int most);
void standin_object_destroy(struct standin_context *c, struct standin_object *o);
void standin_objects_free(struct standin_context *c);

/* Wakes the thread, since a deadline may be earlier now. */
void standin_wake(struct standin_context *c);

/* An asynchronous event of the context: `element` is the object that it is about, or NULL. */
void standin_event(struct standin_context *c, enum ibv_event_type type, void *element, int port);

/* The device is lost: it has failed, or the fabric has ended. Every queue pair fails. */
void standin_context_break(struct standin_context *c, bool has_failed);

#endif
