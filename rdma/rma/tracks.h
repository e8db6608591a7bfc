/* SPDX-License-Identifier: MIT */
/*
 * tracks.h: all tracks to one peer, and how a put or get is divided among them. Each slice goes to
 * the track that has the fewest bytes under way. If a track fails while others work, what it was
 * given and has not done goes again over them: gets at once, puts as soon as none of its packets
 * can be on its way any more, because a late one would write old bytes over new ones. If the last
 * track fails, all work on them fails.
 */
#ifndef RDMA_RMA_TRACKS_H
#define RDMA_RMA_TRACKS_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rma/copies.h"
#include "rdma/rma/track.h"
#include "rdma/rma/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACKS_SLICE_LEAST = 64 * 1024, TRACKS_SLICE_MOST = 1024 * 1024 }; /* bytes */

struct tracks {
    struct track *all[RDMA_RAILS]; /* owned */
    int count;
    struct fault failed; /* code != 0: the last of them has failed */
    bool is_reported[RDMA_RAILS];
    struct work *queue, **queue_end; /* started; not all of it is posted; in order */
    struct work *ended;              /* started and done, for tracks_take_ended */
};

void tracks_init(struct tracks *l);
void tracks_close(struct tracks *l);

/* Prepares w: whether it is direct, and its slices. */
void tracks_begin(struct tracks *l, struct work *w);
/* Posts as many slices of w as there is room for; returns how many. */
int tracks_post(struct tracks *l, struct work *w, struct copies *c);
/* True once the caller's memory is its own again. */
bool tracks_are_done(const struct tracks *l, const struct work *w);

/* Begins w, whose on_done is set, and posts of it what there is room for. True: it is done. False:
 * tracks_take_ended returns it later; tracks_post_queue posts the rest. */
bool tracks_start(struct tracks *l, struct work *w, struct copies *c);
/* Posts what was started, as far as there is room; returns how many slices. */
int tracks_post_queue(struct tracks *l, struct copies *c);
/* Started work that is done; NULL: none. */
struct work *tracks_take_ended(struct tracks *l);
/* True if all bytes of w, which is done, were put or got. */
bool work_has_succeeded(const struct work *w);

/* Handles what the devices have done, and failures. Returns how many slices have ended or gone
 * again. */
int tracks_poll(struct tracks *l, struct copies *c);
/* True if nothing is queued or under way, or has to go again. */
bool tracks_are_idle(const struct tracks *l);
/* When tracks_poll has something to do that no completion announces (clock_ms); INT64_MAX:
 * never. */
int64_t tracks_next_ms(const struct tracks *l);

/* Fails all tracks, and soon, with tracks_poll, all work on them. */
void tracks_fail(struct tracks *l, const struct fault *why);

/* Why a track was given up, once for each, with the number of tracks left in *left. NULL: nothing
 * new. */
const struct fault *tracks_dropped(struct tracks *l, int *left);

#endif
