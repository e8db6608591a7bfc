/* SPDX-License-Identifier: MIT */
/*
 * rails.h: all rails to one peer, and what becomes of one that fails while there is another: this side
 * stops its queue pair and tells the peer (rail_control.h) how many chunks had come over it; the peer does
 * the same. What had not come goes again over the others, once the other side has said so: its queue pair
 * is stopped by then, so no chunk can come twice.
 */
#ifndef RDMA_RAILS_H
#define RDMA_RAILS_H

#include "common/fault.h"
#include "rdma/rail.h"
#include "rdma/rail_control.h"

#include <stdbool.h>
#include <stdint.h>

/* What is kept of a rail that is not used any more. */
struct rails_lost {
    bool is_dropped;
    bool is_reported;      /* to the user */
    bool has_sent_control; /* its word to the peer */
    bool has_peer_control; /* the peer's */
    uint64_t next;         /* of the chunks that go again, by their number on this rail */
};

struct rails {
    struct rail *all[RAILS_MOST]; /* connected ones in the lower rank's order; owned */
    int count;
    struct rail *live[RAILS_MOST]; /* those that are not dropped */
    int live_count;
    struct rails_lost lost[RAILS_MOST];
    const char *peer; /* "rank 3 on host b"; the endpoint's */
};

/* Once `all` is connected: they are in use from now on. */
void rails_start(struct rails *s);

/* The live rail over which chunk `number` goes, and the one on which it has come, with it; or NULL. */
struct rail *rails_route(const struct rails *s, uint64_t number);
struct rail *rails_find(const struct rails *s, uint64_t number, struct rail_chunk *what,
                        const void **bytes);

/* 1 if a rail that has failed was dropped. The last one never is: its failure is the link's. */
int rails_drop_failed(struct rails *s);

/* What the peer must hear of a dropped rail, if anything; out: chunks sent so far over all rails. And its
 * own word of that kind: ML_ERR_REFUSED if it makes no sense. */
bool rails_control_next(struct rails *s, uint64_t out, struct rail_control *control);
int rails_control_take(struct rails *s, const struct rail_control *control, struct fault *why);

/* Why a rail was dropped, once for each that this side found out about; NULL: nothing new. */
const struct fault *rails_dropped(struct rails *s, int *left);

/* Sends what has room now; and whether all that went into dropped rails has come, or gone again. */
void rails_resend(struct rails *s);
bool rails_have_resent(const struct rails *s);

#endif
