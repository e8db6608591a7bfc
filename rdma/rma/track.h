/* SPDX-License-Identifier: MIT */
/*
 * track.h: a queue pair (RC) to one peer for one-sided work: RDMA writes and reads of pieces of the
 * peer's part of a window. A track keeps what it was given until the device says that it is done,
 * so that all of it can be given to another track if this one fails.
 */
#ifndef RDMA_RMA_TRACK_H
#define RDMA_RMA_TRACK_H

#include "common/fault.h"
#include "rdma/rma/gate.h"
#include "rdma/verbs/queue_pair.h"
#include "rdma/verbs/rail_end.h"

#include <stdbool.h>
#include <stdint.h>

struct work; /* tracks.h */

struct slice {
    struct work *work; /* waits for it; NULL: a put whose bytes were copied */
    unsigned char *local;
    uint64_t offset; /* in the peer's part */
    uint32_t size;
    bool is_get;
    int copy; /* the place in `copies`, or -1: the caller's memory */
};

enum { TRACK_DEPTH = QUEUE_PAIR_SENDS };

struct track {
    struct gate *gate;
    const char *peer; /* "rank 3 on host b"; not owned */
    struct ibv_cq *completions;
    unsigned events; /* of the channel, to be acknowledged */
    struct queue_pair pair;
    struct gid gid, peer_gid; /* once connected */
    uint64_t address;         /* of the peer's part */
    uint32_t key;
    struct slice slices[TRACK_DEPTH];
    uint64_t used; /* bit i: slices[i] */
    int under_way; /* given to the device and not returned */
    int gets;      /* reads among them */
    size_t bytes;  /* of what is under way */
    bool is_connected;
    struct fault failed; /* code != 0: the track takes nothing more */
    int64_t quiet_ms;    /* if it has failed: from when on (clock_ms) nothing of it may arrive */
    int64_t give_up_ms;  /* and when the device has had time enough to return everything */
};

/* Makes the queue pair on `g`, which must outlive the track. ML_ERR_DEVICE, ML_ERR_MEMORY. With
 * QUEUE_PAIR_AUTO the caller has to look whether it is RC. */
int track_open(struct track **out, struct gate *g, enum queue_pair_kind kind, const char *peer,
               struct fault *why);
void track_close(struct track *l); /* takes NULL and half-open tracks */

/* gid_index: chosen by the user, or -1. */
void track_publish(const struct track *l, int gid_index, struct rail_end *out);
/* ML_ERR_LINK, ML_ERR_DEVICE, ML_ERR_REFUSED. */
int track_connect(struct track *l, const struct rail_end *other, int gid_index, bool is_low,
                  struct fault *why);

/* True if it takes one more. */
bool track_has_room(const struct track *l, bool is_get);
/* Gives a slice to the device, after track_has_room. Its local memory is in `copies` or in a block
 * of ml_alloc. A failure is stored in l->failed; the slice is kept like one that was under way. */
void track_post(struct track *l, const struct slice *s);

/* Stores up to `most` slices that are done in `done`; returns how many. Notices failures. */
int track_poll(struct track *l, struct slice *done, int most);

/* Takes a slice that was not done out of a track that has failed and has nothing under way. Puts
 * only once none of its packets can reach the peer any more, or if they are `lost`, that is, do not
 * go again. False: there is none. */
bool track_take(struct track *l, bool lost, struct slice *out);

/* Stops the track because of `why`. */
void track_fail(struct track *l, const struct fault *why);
/* Ends the queue pair of a failed track whose device does not return what was under way. */
void track_give_up(struct track *l);

#endif
