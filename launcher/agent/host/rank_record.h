/* SPDX-License-Identifier: MIT */
/* rank_record.h: reads what a rank's runtime has recorded of its calls
 * (common/rank_calls.h), once the rank has ended. */
#ifndef LAUNCHER_AGENT_HOST_RANK_RECORD_H
#define LAUNCHER_AGENT_HOST_RANK_RECORD_H

#include "common/rank_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct rank_record {
    int fd; /* -1: there is none */
    bool keeps_all;
    bool ticks_are_ns;
    uint64_t made;       /* calls in all */
    uint64_t next, past; /* the next one to be read, and the one behind the last */
    uint64_t mask;
    struct call_moment opened, now;
};

/* True while it is open; of one that is all 0, false. */
static inline bool rank_record_is_open(const struct rank_record *r)
{
    return r->mask != 0;
}

/* Opens the record of the rank of `user` whose job directory is `dir`, for its last `most` calls,
 * or for all if all were kept. False: there is none. */
bool rank_record_open(struct rank_record *r, const char *dir, uid_t user, int rank, uint64_t most);
void rank_record_close(struct rank_record *r);

/* Reads up to `room` calls, with times in ns of this machine's CLOCK_MONOTONIC; returns how many, 0
 * if there are no more. Calls that are damaged are left out. */
size_t rank_record_read(struct rank_record *r, struct rank_call *out, size_t room);

#endif
