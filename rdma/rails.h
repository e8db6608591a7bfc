/* SPDX-License-Identifier: MIT */
/*
 * rails.h: all rails to one peer, and what happens if one fails while others work. This side drops
 * it: it stops the queue pair and sends the peer a control message (rail_control.h) with the number
 * of chunks that had arrived over it. The peer does the same. Chunks that had not arrived are sent
 * again over the other rails, but only after the peer's message: by then its queue pair is stopped,
 * so no chunk can arrive twice.
 *
 * Rails near the ranks' GPUs are preferred: chunks go over those of the live ones that have the
 * most ends beside a GPU of their rank. The others wait for the failure of these.
 */
#ifndef RDMA_RAILS_H
#define RDMA_RAILS_H

#include "common/fault.h"
#include "rdma/rail.h"
#include "rdma/rail_control.h"

#include <stdbool.h>
#include <stdint.h>

struct rails_lost {
    bool is_dropped;
    bool is_reported;      /* to the user */
    bool has_sent_control; /* the control message to the peer */
    bool has_peer_control; /* the peer's has come */
    uint64_t next;         /* index on this rail of the next chunk to send again */
};

struct rails {
    struct rail *all[RDMA_RAILS]; /* owned; once connected in the lower rank's order */
    int count;
    struct rail *live[RDMA_RAILS]; /* those that are not dropped */
    int live_count;
    struct rail *used[RDMA_RAILS]; /* the live ones over which chunks are sent */
    int used_count;
    bool prefers; /* those near the GPUs */
    struct rails_lost lost[RDMA_RAILS];
    const char *peer; /* "rank 3 on host b"; owned by the endpoint */
};

/* Puts all rails into use, once `all` is connected. */
void rails_start(struct rails *s);
/* From now on sends over the nearest ones alone. */
void rails_prefer_near(struct rails *s);

/* The rail over which chunk `number` is sent. */
struct rail *rails_route(const struct rails *s, uint64_t number);
/* The rail on which chunk `number` has arrived, with the chunk in *what and *bytes; NULL: none. */
struct rail *rails_find(const struct rails *s, uint64_t number, struct rail_chunk *what,
                        const void **bytes);

/* Drops the rails that have failed; returns 1 if there were any. The last live rail is never
 * dropped: its failure is that of the link. */
int rails_drop_failed(struct rails *s);

/* Stores the next control message for the peer in *control; false: there is none. out: number of
 * chunks that were sent so far, over all rails. */
bool rails_control_next(struct rails *s, uint64_t out, struct rail_control *control);
/* Handles the peer's message that it has dropped a rail. ML_ERR_REFUSED if it makes no sense. */
int rails_control_take(struct rails *s, const struct rail_control *control, struct fault *why);

/* The reason why this side dropped a rail, once for each such rail, with the number of rails left
 * in *left. NULL: nothing new. */
const struct fault *rails_dropped(struct rails *s, int *left);

/* Sends again as many chunks of dropped rails as there is room for. */
void rails_resend(struct rails *s);
/* True if every chunk that was sent over a dropped rail has arrived or was sent again. */
bool rails_have_resent(const struct rails *s);

#endif
