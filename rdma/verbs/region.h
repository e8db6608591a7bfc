/* SPDX-License-Identifier: MIT */
/*
 * region.h: memory of ml_alloc as devices know it. A rail's device registers it, whole, when the first
 * long message from it or into it goes over that rail, and keeps it so until ml_free or the rail's end.
 * Each rail has a protection domain of its own, so the key that a peer is told works over that peer's
 * queue pair only.
 */
#ifndef RDMA_VERBS_REGION_H
#define RDMA_VERBS_REGION_H

#include "common/fault.h"
#include "rdma/verbs/explain.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

/* Memory that may be registered. region_drop deregisters it everywhere: it may be unmapped then. */
void region_add(void *base, size_t size);
void region_drop(void *base);

struct region_keys {
    uint32_t local, remote;
};

/* The keys of what lies at `address` in `domain`, registered now if it wasn't. False: it is not all in
 * one piece of memory of ml_alloc, or can't be registered; `why`, if it has no code yet, then gets the
 * process's first such refusal. */
bool region_find(struct ibv_pd *domain, const void *address, size_t size, struct region_keys *out,
                 const struct explain_place *at, struct fault *why);

/* Deregisters all of it in a domain that is about to end. */
void region_forget(struct ibv_pd *domain);

#endif
