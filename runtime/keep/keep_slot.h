/* SPDX-License-Identifier: MIT */
/*
 * keep_slot.h: one version of what a rank keeps (ml_keep), in a file of its own:
 *
 *     /dev/shm/mlaunch-UID-JOB.HOST.XXXXXX.keep.RANK.SLOT.NAME
 *     ┌────────────────────┬───────────────────────────┐
 *     │ head, 4,096 bytes  │ what is kept, `size` bytes │
 *     └────────────────────┴───────────────────────────┘
 *
 * The head is zeros from before the first byte is written until after the last one, so a rank that
 * dies meanwhile leaves a slot that is torn, and its other slot whole. The agent removes the files
 * at the job's end, as all segments of that name. They are read and written by system calls:
 * whatever another process of the user does with them, nobody gets SIGBUS, and what is read is
 * compared with its hash after it has been copied. Any thread; two may not write one slot.
 */
#ifndef RUNTIME_KEEP_KEEP_SLOT_H
#define RUNTIME_KEEP_KEEP_SLOT_H

#include "common/fault.h"
#include "common/net/auth.h"
#include "common/net/kept_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose slots: those of one rank for one name. */
struct keep_owner {
    const char *dir; /* the job directory, on whose last part the names depend */
    const char *job, *host;
    const char *name; /* kept_is_name */
    int rank;
};

/* Which version it is. The course comes first: versions of an earlier one are older, whatever
 * their numbers are (keep.h). */
struct keep_stamp {
    uint64_t course, version;
};

/* As it lies in the file. */
struct keep_head {
    uint64_t magic;
    char job[AUTH_JOB], name[KEPT_NAME];
    uint32_t rank, type; /* type: 1 + ml_type, or 0 for bytes */
    struct keep_stamp stamp;
    uint64_t written; /* how many times its rank had kept something under the name before */
    uint64_t size;    /* bytes of data */
    uint64_t data_hash;
    uint64_t head_hash; /* all of the above */
};

enum keep_slot_state { KEEP_SLOT_NONE, KEEP_SLOT_TORN, KEEP_SLOT_WHOLE };

/* How two stamps compare, as in qsort(3). */
int keep_slot_compare(const struct keep_stamp *a, const struct keep_stamp *b);

/* What there is in the slot. If it is whole, *out is its head, checked: it is this owner's, and
 * the file is as long as it says. The data has not been looked at. */
enum keep_slot_state keep_slot_look(const struct keep_owner *o, int slot, struct keep_head *out);

/* Replaces what is in the slot. head: stamp, written, type and size, from which the rest is filled
 * in. ML_ERR_SYSTEM if /dev/shm has no room (the slot is as it was, or empty), or refuses. */
int keep_slot_write(const struct keep_owner *o, int slot, struct keep_head *head, const void *data,
                    struct fault *why);

/* Replaces what is in the slot by a copy from elsewhere: the head, then `size` bytes. `next` gives
 * the next bytes, or false. What is not this owner's, or differs from its hash, is
 * left out. False: `next` has failed, and the slot is torn. */
bool keep_slot_take(const struct keep_owner *o, int slot, uint64_t size,
                    bool (*next)(void *into, size_t size, void *arg), void *arg);

/* Reads head->size bytes into `into`, or only compares them with their hash (NULL). ML_ERR_REFUSED:
 * they are not what was kept; `into` is undefined then. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int keep_slot_read(const struct keep_owner *o, int slot, const struct keep_head *head, void *into,
                   struct fault *why);

/* Removes it. */
void keep_slot_drop(const struct keep_owner *o, int slot);

#endif
