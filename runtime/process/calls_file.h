/* SPDX-License-Identifier: MIT */
/* calls_file.h: the file with a rank's calls (common/rank_calls.h), for the rank. Any thread
 * may use it. */
#ifndef RUNTIME_PROCESS_CALLS_FILE_H
#define RUNTIME_PROCESS_CALLS_FILE_H

#include "common/call_clock.h"

#include <stdbool.h>
#include <stddef.h>

struct calls_file {
    struct rank_calls *file;
    uint64_t mask;          /* record of call n: n & mask */
    _Atomic uint64_t limit; /* calls from this number on have no record yet */
    size_t mapped;          /* bytes */
    int fd;                 /* for a file that grows; or -1 */
    uint16_t generation;
    bool ticks_are_ns;
    bool keeps_times; /* when each call ended */
    bool has_hashes;  /* a hash of each call's result */
};

/* Opens the file of the rank whose job directory is `dir`, and continues behind the calls of an
 * earlier generation. MLAUNCH_RECORD says what is kept: last (the default), all, hashes (all calls,
 * with the hashes of their results), or off. NULL: nothing, or the file cannot be made; the rank
 * does without. */
struct calls_file *calls_file_open(const char *dir, int rank, uint32_t generation);
/* Leaves the file for the agent; takes NULL. */
void calls_file_close(struct calls_file *c);

/* Makes room for call n, which is not below c->limit. False: there is none. */
bool calls_file_grow(struct calls_file *c, uint64_t n);

static inline uint64_t calls_file_ticks(const struct calls_file *c)
{
    return c->ticks_are_ns ? (uint64_t)clock_ns() : call_clock_ticks();
}

#endif
