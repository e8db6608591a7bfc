/* SPDX-License-Identifier: MIT */
/* rank_counts.h: reads what a rank's runtime counts (common/rank_counters.h). */
#ifndef LAUNCHER_AGENT_QUERIES_RANK_COUNTS_H
#define LAUNCHER_AGENT_QUERIES_RANK_COUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* {"calls": [{"call", "count", "algorithms": {name or "": count}, "bytes", "waits": [number],
 * "wait_s"}], "links": [{"host", "link",
 * "sent", "received"}]} of the rank of `user` whose job directory is `dir`, as far as anything was
 * counted; NULL: there is no such file. The caller owns it. */
json_t *rank_counts_read(const char *dir, uid_t user, int rank);

/* {"calls", "bytes", "wait_ms", "kept_waiting"}: the sums over all calls, each below 2^50; as
 * above. */
json_t *rank_counts_sum(const char *dir, uid_t user, int rank);

/* The membership of the rank's world, and how many members it has (--elastic). False: the rank has
 * not said, or no such rank is there. */
bool rank_counts_world(const char *dir, uid_t user, int rank, int64_t *membership,
                       int64_t *members);

#endif
