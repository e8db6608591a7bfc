/* SPDX-License-Identifier: MIT */
/* kept_bytes.h: the memory that a job's ranks keep (ml_keep) on this host, dead ones' too. */
#ifndef LAUNCHER_AGENT_QUERIES_KEPT_BYTES_H
#define LAUNCHER_AGENT_QUERIES_KEPT_BYTES_H

#include <jansson.h>
#include <sys/types.h>

/* {"3": bytes}, for each rank that keeps something, of the job of `user` whose job directory is
 * `dir`. The caller owns it. */
json_t *kept_bytes_read(const char *dir, uid_t user);

/* One rank's bytes, and the sum of all ranks'; 0 if there are none. */
json_int_t kept_bytes_of(const json_t *kept, int rank);
json_int_t kept_bytes_sum(const json_t *kept);

#endif
