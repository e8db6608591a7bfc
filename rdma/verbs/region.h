/* SPDX-License-Identifier: MIT */
/*
 * region.h: registration of memory that ml_alloc allocated, and of a GPU's (region_gpu.h). A rail
 * registers a whole allocation when the first long message from it or into it goes over that rail,
 * and deregisters it at ml_free or when the rail ends. Each rail has its own protection domain, so
 * a key that a peer learns works over the queue pair of that peer only. All functions may be called
 * from any thread.
 */
#ifndef RDMA_VERBS_REGION_H
#define RDMA_VERBS_REGION_H

#include "common/fault.h"
#include "rdma/verbs/explain.h"
#include "rdma/verbs/region_gpu.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

/* Add an allocation that may be registered; drop it before it is unmapped, which deregisters it in
 * all domains. */
void region_add(void *base, size_t size);
void region_drop(void *base);
/* The same for an allocation of a GPU's memory; the dma-buf is closed by region_drop, or at once if
 * it is false that the allocation could be added. */
bool region_add_gpu(void *base, size_t size, const struct region_gpu *gpu);

struct region_keys {
    uint32_t local, remote;
    enum region_way way;
};

/* Stores the keys in `domain` of the `size` bytes at `address`; registers them if necessary,
 * for_peers (the same for all of a domain): so that the peer may write them. False: they are not
 * all in one allocation that was added, or cannot be registered. The first failure to register in
 * this process is then stored in `why`, if that has no code yet; that of a GPU's memory each
 * time. */
bool region_find(struct ibv_pd *domain, const void *address, size_t size, bool for_peers,
                 struct region_keys *out, const struct explain_place *at, struct fault *why);

/* Deregisters everything in a domain that is about to end. */
void region_forget(struct ibv_pd *domain);

#endif
