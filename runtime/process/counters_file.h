/* SPDX-License-Identifier: MIT */
/* counters_file.h: the file with a rank's counters (rank_counters.h), for the rank. */
#ifndef RUNTIME_PROCESS_COUNTERS_FILE_H
#define RUNTIME_PROCESS_COUNTERS_FILE_H

#include "common/rank_counters.h"

/* Makes the file of the rank whose job directory is `dir`. A host's name may be NULL until
 * counters_file_host(). NULL if that is not possible: the rank does without. */
struct rank_counters *counters_file_open(const char *dir, int rank, char *const *hosts, int count);
/* Leaves it to the agent; takes NULL. */
void counters_file_close(struct rank_counters *c);

/* Host `host` is this one from now on. Takes NULL. */
void counters_file_host(struct rank_counters *c, int host, const char *name);

/* Says the membership of the rank's world, and the number of its members; takes NULL. */
void counters_file_world(struct rank_counters *c, uint32_t membership, int members);

/* Adds a stretch of waiting. */
void counters_file_wait(struct call_counters *c, uint64_t ns);

/* The counters of the links of that name to a host's ranks; NULL: the name is unknown. */
struct link_counters *counters_file_links(struct rank_counters *c, int host, const char *name);

#endif
