/* SPDX-License-Identifier: MIT */
/* rank_counts.h: reads what a rank's runtime counts (common/rank_counters.h). */
#ifndef LAUNCHER_AGENT_ANSWER_RANK_COUNTS_H
#define LAUNCHER_AGENT_ANSWER_RANK_COUNTS_H

#include <jansson.h>
#include <sys/types.h>

/* {"calls": [{"call", "count", "bytes", "waits": [number], "wait_s"}], "links": [{"host", "link",
 * "sent", "received"}]} of the rank of `user` whose job directory is `dir`, as far as anything was
 * counted; NULL: there is no such file. The caller owns it. */
json_t *rank_counts_read(const char *dir, uid_t user, int rank);

#endif
