/* SPDX-License-Identifier: MIT */
/* call_log.h: the last calls of each rank in one run of a job, as its agents have sent them. */
#ifndef LAUNCHER_RUN_RECORD_CALL_LOG_H
#define LAUNCHER_RUN_RECORD_CALL_LOG_H

#include "common/fault.h"
#include "common/rank_calls.h"

#include <stdbool.h>
#include <stddef.h>

struct call_tail {
    bool has_come;           /* false: the rank has recorded nothing, or its host was lost */
    bool is_cut;             /* it has made more calls than `calls` has */
    struct rank_call *calls; /* the oldest first; owned */
    size_t count, room;
};

struct call_log {
    int size;
    struct call_tail *ranks;
};

/* ML_ERR_MEMORY. */
int call_log_create(struct call_log **out, int size, struct fault *why);
void call_log_destroy(struct call_log *l); /* this and the next take NULL */
/* Forgets what has come so far. */
void call_log_clear(struct call_log *l);

/* Adds `count` calls of a rank, which follow those before; `made`: how many it has made in all. The
 * last RANK_CALLS_LAST and some more are kept. Without memory they are dropped. */
void call_log_add(struct call_log *l, int rank, uint64_t made, const struct rank_call *calls,
                  size_t count);

#endif
