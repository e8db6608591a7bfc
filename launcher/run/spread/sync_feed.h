/* SPDX-License-Identifier: MIT */
/* sync_feed.h: makes the stream for the chains: first the list, then, once all hosts have compared
 * it with what they have, the files that any of them needs. */
#ifndef LAUNCHER_RUN_SPREAD_SYNC_FEED_H
#define LAUNCHER_RUN_SPREAD_SYNC_FEED_H

#include "launcher/run/spread/sync_host.h"

enum { SYNC_FEED_ROOM = 512 << 10 }; /* bytes that sync_feed_make() needs */

struct sync_feed;

/* All three must outlive it. ML_ERR_MEMORY. */
int sync_feed_open(struct sync_feed **out, const struct sync_source *source,
                   const struct sync_host *hosts, int host_count, bool is_checksum,
                   struct fault *why);
void sync_feed_close(struct sync_feed *f); /* takes NULL */

void sync_feed_start_list(struct sync_feed *f);
/* Sends what the hosts that have LOOKED need. */
void sync_feed_start_files(struct sync_feed *f);
void sync_feed_stop(struct sync_feed *f);

/* Makes the next bytes; returns their number. 0: this part has ended, or, if sync_feed_is_busy(),
 * it is still reading. */
size_t sync_feed_make(struct sync_feed *f, uint8_t out[SYNC_FEED_ROOM]);
bool sync_feed_is_busy(const struct sync_feed *f);

uint64_t sync_feed_total(const struct sync_feed *f); /* bytes of contents in this round */
uint64_t sync_feed_lost(const struct sync_feed *f);  /* files that could not be read; all rounds */

#endif
