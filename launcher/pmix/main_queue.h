/* SPDX-License-Identifier: MIT */
/* main_queue.h: the queue from the threads of libpmix, which must not wait, to the main thread's
 * loop. */
#ifndef LAUNCHER_PMIX_MAIN_QUEUE_H
#define LAUNCHER_PMIX_MAIN_QUEUE_H

#include "common/fault.h"

#include <pmix.h>
#include <pmix_server.h>
#include <stddef.h>

enum main_queue_kind {
    MAIN_QUEUE_CONNECTED,
    MAIN_QUEUE_FINALIZED,
    MAIN_QUEUE_ABORT,
    MAIN_QUEUE_FENCE,
    MAIN_QUEUE_SPAWN,
    MAIN_QUEUE_JOINED, /* ranks connect to each other, or disconnect: they know each other anyway */
    MAIN_QUEUE_ASK,    /* a question for forwarder.h */
    MAIN_QUEUE_FOUND,  /* what a rank of this host has put, for another host */
};

struct main_queue_item {
    enum main_queue_kind kind;
    pmix_rank_t rank;
    int status;    /* an abort's, or what was found */
    uint32_t host; /* to be asked; or which one has asked, and the number of its question */
    uint32_t ask;
    uint32_t question; /* enum forwarder_kind */
    char *bytes;       /* owned */
    size_t size;
    pmix_op_cbfunc_t done;      /* to be called once it has been taken in, or NULL */
    pmix_modex_cbfunc_t answer; /* for a fence, or with what a rank has put */
    pmix_lookup_cbfunc_t found; /* with what was published */
    pmix_op_cbfunc_t over;      /* whether the publishing has succeeded */
    void *cbdata;               /* for each of them */
    struct main_queue_item *next;
};

int main_queue_open(struct fault *why);
int main_queue_fd(void); /* readable: there are items */

/* Copies *h and `size` bytes at `bytes`. Called on any thread. ML_ERR_MEMORY. */
int main_queue_send(const struct main_queue_item *item, const void *bytes, size_t size);

/* The oldest item, or NULL. The caller destroys it. */
struct main_queue_item *main_queue_take(void);
void main_queue_destroy(struct main_queue_item *item);

#endif
