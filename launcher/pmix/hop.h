/* SPDX-License-Identifier: MIT */
/* hop.h: the way from the threads of libpmix, which must not wait, to the main thread's loop. */
#ifndef LAUNCHER_PMIX_HOP_H
#define LAUNCHER_PMIX_HOP_H

#include "common/fault.h"

#include <pmix.h>
#include <pmix_server.h>
#include <stddef.h>

enum hop_kind {
    HOP_CONNECTED,
    HOP_FINALIZED,
    HOP_ABORT,
    HOP_FENCE,
    HOP_SPAWN,
    HOP_JOINED, /* ranks connect to each other, or disconnect: they know each other anyway */
    HOP_ASK,    /* a question for pass.h */
    HOP_FOUND,  /* what a rank of this host has put, for another host */
};

struct hop {
    enum hop_kind kind;
    pmix_rank_t rank;
    int status;    /* of an abort, or of what was found */
    uint32_t host; /* to be asked; or which one has asked, and the number of its question */
    uint32_t ask;
    uint32_t question; /* enum pass_kind */
    char *bytes;       /* owned */
    size_t size;
    pmix_op_cbfunc_t done;      /* to be called once it has been taken in, or NULL */
    pmix_modex_cbfunc_t answer; /* of a fence, or with what a rank has put */
    pmix_lookup_cbfunc_t found; /* with what was published */
    pmix_op_cbfunc_t over;      /* what was to be published is, or is not */
    void *cbdata;               /* for each of them */
    struct hop *next;
};

int hop_open(struct fault *why);
int hop_fd(void); /* readable: there are hops */

/* Copies *h and `size` bytes at `bytes`. Called on any thread. ML_ERR_MEMORY. */
int hop_send(const struct hop *h, const void *bytes, size_t size);

/* The oldest hop, or NULL. The caller destroys it. */
struct hop *hop_take(void);
void hop_destroy(struct hop *h);

#endif
