/* SPDX-License-Identifier: MIT */
/*
 * reach.h: one-sided work of one rank on a window over RDMA. The device writes (RDMA write), reads
 * (RDMA read) and changes (atomic operations) the parts of the other ranks; their processors take
 * no part in it.
 *
 *     reach ──── peer 0 ── tracks ─┬─ track ─── gate rxe_p1 ──┐
 *       │        peer 1            └─ track ─── gate rxe_p2   ├── the part, copies
 *       │        peer 2 ── tracks ──── track ─── gate rxe_p2 ─┘
 *       └─ copies
 *
 *   gate    one port of this host: protection domain, registered memory (gate.h)
 *   track   one queue pair to one peer, over a gate (track.h)
 *   tracks  all of them to one peer: slices, failures (tracks.h)
 *   copies  registered memory for what is short, or not in memory of ml_alloc (copies.h)
 *
 * These queue pairs carry nothing else, so any thread may use them while another one serves the
 * window's messages: all functions may be called from any thread, but those from reach_open to
 * reach_remove, and reach_close, from one thread while no other one uses the reach.
 *
 * Atomic operations go this way only where reach_own is true on all ranks, because two devices of
 * one host, or a device and a processor, need not be atomic towards each other (IBV_ATOMIC_HCA).
 */
#ifndef RDMA_RMA_REACH_H
#define RDMA_RMA_REACH_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rma/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reach;

struct reach_config {
    int peers; /* numbered from 0 by the caller */
    int rank;  /* this one's world rank */
    void *memory;
    size_t size; /* of this rank's part, which the peers may read and write until reach_close */
    struct rdma_choice choice;
    /* Asked now and then while a call waits; returns why the window is broken (ML_ERR_*), or 0. */
    int (*check)(void *arg, struct fault *why);
    void *arg;
};

/* ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int reach_open(struct reach **out, const struct reach_config *c, struct fault *why);
/* Ends all work; the peers cannot reach the part any more. Takes NULL. */
void reach_close(struct reach *r);

struct reach_peer_config {
    int rank;                   /* world rank */
    const char *name;           /* "rank 3 on host b", copied */
    const char *const *devices; /* one for each rail */
    int device_count;
};

/* Makes the queue pairs to a peer. False: there are none, and the peer is not within reach. `why`
 * has the reason (a device that cannot register the part, for instance), but no code if the user
 * has chosen UC or a device has no RC: only RC can read. */
bool reach_add(struct reach *r, int peer, const struct reach_peer_config *c, struct fault *why);
/* The *size bytes that the peer needs for its reach_connect; valid until reach_close. */
const void *reach_publish(const struct reach *r, int peer, size_t *size);
/* Connects to what the peer has published for this rank. If that is nothing, or if nothing was
 * published here, the peer is not within reach. ML_ERR_LINK, ML_ERR_DEVICE, ML_ERR_REFUSED. */
int reach_connect(struct reach *r, int peer, const void *from_peer, size_t size, struct fault *why);
/* True if the peer is within reach. The caller has to make both ends agree, by reach_remove, before
 * either uses it. */
bool reach_has(const struct reach *r, int peer);
/* True if one device can carry out all atomic operations on this rank's part: all other ranks reach
 * it over that device, by one rail each, and it is connected to itself now, for this rank's own
 * operations (peer `self`). Call it when all others are connected. */
bool reach_own(struct reach *r, int self);
void reach_remove(struct reach *r, int peer);

/* The range must be within the peer's part. `from` may be reused when reach_put returns; the bytes
 * are in the peer's memory after reach_flush. ML_ERR_LINK if the last rail has failed, and what
 * `check` returned; after either, every later call for that peer fails too. */
int reach_put(struct reach *r, int peer, const void *from, size_t size, uint64_t offset,
              struct fault *why);
int reach_get(struct reach *r, int peer, void *into, size_t size, uint64_t offset,
              struct fault *why);
/* Changes the uint64_t at `offset` atomically, and stores in *old what it was. Only if the ranks
 * have agreed that reach_own is true on all of them. There is one rail then: if it fails, nobody
 * knows whether the operation was carried out, and it is not repeated. The errors of reach_put. */
int reach_change(struct reach *r, int peer, const struct work_change *change, uint64_t offset,
                 uint64_t *old, struct fault *why);
/* Returns once everything that was put to that peer, by any thread, is in its memory, and what was
 * started is done. */
int reach_flush(struct reach *r, int peer, struct fault *why);

/* Starts a put or a get: peer, is_get, local, size and offset of *w are set, and so is on_done. 1:
 * it is done already. 0: on_done will be called once, by some thread, when the caller's memory is
 * its own again and w is not used any more; *w must stay until then. It must not call any function
 * of a reach. `why` is NULL in success; in error it is as for reach_put, and on_done may take its
 * time. < 0: the errors of reach_put, and on_done is not called. reach_flush waits for what was
 * started too; reach_close fails it with ML_ERR_STATE. */
int reach_start(struct reach *r, struct work *w, struct fault *why);
/* Returns once *done, which an on_done sets. */
void reach_await(struct reach *r, const _Atomic bool *done);
/* Moves what was started, unless another thread does. */
void reach_look(struct reach *r);

/* Why a rail was given up while others work, once for each, with the number of rails left in *left.
 * False: nothing new. */
bool reach_dropped(struct reach *r, struct fault *out, int *left);

/* Stores the file descriptors, which a forked child must close, in out[0] to out[most - 1]; returns
 * how many. */
int reach_descriptors(const struct reach *r, int *out, int most);

#endif
