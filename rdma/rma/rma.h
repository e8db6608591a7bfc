/* SPDX-License-Identifier: MIT */
/*
 * rma.h: one-sided work of one rank on a window over RDMA. The device writes (RDMA write), reads
 * (RDMA read) and changes (atomic operations) the parts of the other ranks; their processors take
 * no part in it.
 *
 *     rma ──── peer 0 ── qps ─┬─ qp ─── port rxe_p1 ──┐
 *      │       peer 1         └─ qp ─── port rxe_p2   ├── the part, bounce pool
 *      │       peer 2 ── qps ──── qp ─── port rxe_p2 ─┘
 *      └─ bounce pool
 *
 *   port         one port of this host: protection domain, registered memory (rma_port.h)
 *   qp           one queue pair to one peer, over a port (rma_qp.h)
 *   qps          all of them to one peer: slices, failures (rma_qps.h)
 *   bounce pool  registered memory for what is short, or not in memory of ml_alloc (bounce_pool.h)
 *
 * These queue pairs carry nothing else, so any thread may use them while another one serves the
 * window's messages: all functions may be called from any thread, but those from rma_open to
 * rma_remove, and rma_close, from one thread while no other one uses the object.
 *
 * Atomic operations go this way only where rma_own is true on all ranks, because two devices of one
 * host, or a device and a processor, need not be atomic towards each other (IBV_ATOMIC_HCA).
 */
#ifndef RDMA_RMA_RMA_H
#define RDMA_RMA_RMA_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rma/rma_op.h"
#include "rdma/verbs/region_gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rma;

struct rma_config {
    int peers; /* numbered from 0 by the caller */
    int rank;  /* this one's world rank */
    void *memory;
    size_t size; /* this rank's part, which the peers may read and write until rma_close */
    const struct region_gpu *gpu; /* the part is a GPU's, for rma_add; NULL: host memory */
    struct rdma_choice choice;
    /* Asked now and then while a call waits; returns why the window is broken (ML_ERR_*), or 0. */
    int (*check)(void *arg, struct fault *why);
    void *arg;
};

/* ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int rma_open(struct rma **out, const struct rma_config *c, struct fault *why);
/* Ends all work; the peers cannot reach the part any more. Takes NULL. */
void rma_close(struct rma *r);

struct rma_peer_config {
    int rank;                   /* world rank */
    const char *name;           /* "rank 3 on host b", copied */
    const char *const *devices; /* one for each rail */
    int device_count;
};

/* Makes the queue pairs to a peer. False: there are none, and the peer is not within reach. `why`
 * has the reason (a device that cannot register the part, for instance), but no code if the user
 * has chosen UC or a device has no RC: only RC can read. */
bool rma_add(struct rma *r, int peer, const struct rma_peer_config *c, struct fault *why);
/* The *size bytes that the peer needs for its rma_connect; valid until rma_close. */
const void *rma_publish(const struct rma *r, int peer, size_t *size);
/* Connects to what the peer has published for this rank. If that is nothing, or if nothing was
 * published here, the peer is not within reach. ML_ERR_LINK, ML_ERR_DEVICE, ML_ERR_REFUSED. */
int rma_connect(struct rma *r, int peer, const void *from_peer, size_t size, struct fault *why);
/* True if the peer is within reach. The caller has to make both ends agree, by rma_remove, before
 * either uses it. */
bool rma_has(const struct rma *r, int peer);
/* How the devices by which the peer reaches this rank's part reach it themselves: the worst way. */
enum region_way rma_part_way(const struct rma *r, int peer);
/* True if one device can carry out all atomic operations on this rank's part: all other ranks reach
 * it over that device, by one rail each, and it is connected to itself now, for this rank's own
 * operations (peer `self`). Call it when all others are connected. */
bool rma_own(struct rma *r, int self);
void rma_remove(struct rma *r, int peer);

/* The range must be within the peer's part. `from` may be reused when rma_put returns; the bytes
 * are in the peer's memory after rma_flush. ML_ERR_LINK if the last rail has failed, and what
 * `check` returned; after either, every later call for that peer fails too. */
int rma_put(struct rma *r, int peer, const void *from, size_t size, uint64_t offset,
            struct fault *why);
int rma_get(struct rma *r, int peer, void *into, size_t size, uint64_t offset, struct fault *why);
/* True if puts from these bytes to the peer, and gets to them, are the devices' alone, so that they
 * may be a GPU's; *way: how they are reached. False: `why` has the reason, but no code if they are
 * few, or in no memory that was added (region.h). */
bool rma_reaches(struct rma *r, int peer, const void *local, size_t size, enum region_way *way,
                 struct fault *why);
/* Changes the uint64_t at `offset` atomically, and stores in *old what it was. Only if the ranks
 * have agreed that rma_own is true on all of them. There is one rail then: if it fails, nobody
 * knows whether the operation was carried out, and it is not repeated. The errors of rma_put. */
int rma_change(struct rma *r, int peer, const struct rma_change *change, uint64_t offset,
               uint64_t *old, struct fault *why);
/* Returns once everything that was put to that peer, by any thread, is in its memory, and what was
 * started is done. */
int rma_flush(struct rma *r, int peer, struct fault *why);

/* Starts a put or a get: peer, is_get, local, size and offset of *op are set, and so is on_done. 1:
 * it is done already. 0: on_done will be called once, by some thread, when the caller's memory is
 * its own again and op is not used any more; *op must stay until then. It must not call any
 * function of this header. `why` is NULL in success; in error it is as for rma_put, and on_done may
 * take its time. < 0: the errors of rma_put, and on_done is not called. rma_flush waits for what
 * was started too; rma_close fails it with ML_ERR_STATE. */
int rma_start(struct rma *r, struct rma_op *op, struct fault *why);
/* Returns once *done, which an on_done sets. */
void rma_await(struct rma *r, const _Atomic bool *done);
/* Moves what was started, unless another thread does. */
void rma_progress(struct rma *r);

/* Why a rail was given up while others work, once for each, with the number of rails left in *left.
 * False: nothing new. */
bool rma_dropped(struct rma *r, struct fault *out, int *left);

/* Stores the file descriptors, which a forked child must close, in out[0] to out[most - 1]; returns
 * how many. */
int rma_descriptors(const struct rma *r, int *out, int most);

#endif
