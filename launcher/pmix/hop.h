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
    HOP_WANTED, /* what a rank of another host has put */
    HOP_FOUND,  /* what a rank of this host has put, for another host */
};

struct hop {
    enum hop_kind kind;
    pmix_rank_t rank;
    int status;    /* of an abort, or of what was found */
    uint32_t host; /* of what was found: which one has asked, and the number of its question */
    uint32_t ask;
    char *bytes; /* owned */
    size_t size;
    pmix_op_cbfunc_t done;      /* to be called once it has been taken in, or NULL */
    pmix_modex_cbfunc_t answer; /* of a fence, or with what was wanted */
    void *cbdata;               /* for either */
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
