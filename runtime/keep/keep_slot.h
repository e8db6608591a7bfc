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

/* The slots of a name. */
struct keep_slots {
    enum keep_slot_state state[KEPT_SLOTS];
    struct keep_head head[KEPT_SLOTS]; /* if it is whole */
};

/* What there is in them. A head has been checked: it is this owner's, and the file is as long as it
 * says. The data has not been looked at. */
enum keep_slot_state keep_slot_look(const struct keep_owner *o, int slot, struct keep_head *out);
void keep_slots_look(struct keep_slots *s, const struct keep_owner *o);
/* Removes what has been kept after `now`: it would take one of the slots for ever. */
void keep_slots_drop_later(struct keep_slots *s, const struct keep_owner *o,
                           const struct keep_stamp *now);
/* The slot that has this version, or -1. Both may have it, if its rank has kept it twice: then it
 * is the later one. */
int keep_slots_find(const struct keep_slots *s, const struct keep_stamp *stamp);
/* True if slot a may be overwritten rather than slot b, both whole. */
bool keep_slot_is_older(const struct keep_head *a, const struct keep_head *b);

/* The head that a copy of `size` bytes begins with. False: it is not this owner's. */
bool keep_slot_head(const struct keep_owner *o, const unsigned char page[KEPT_HEAD], uint64_t size,
                    struct keep_head *out);
/* A descriptor of the slot's file, if it is whole, with *out its head; or -1 with errno. */
int keep_slot_open(const struct keep_owner *o, int slot, struct keep_head *out);

/* Gets the next bytes of a version, in order, while they are in the processor's cache. */
typedef void keep_slot_add(const void *piece, size_t size, void *arg);

/* Replaces what is in the slot. head: stamp, written, type and size, from which the rest is filled
 * in. ML_ERR_SYSTEM if /dev/shm has no room (the slot is as it was, or empty), or refuses: then
 * `add`, which may be NULL, may have got a part. */
int keep_slot_write(const struct keep_owner *o, int slot, struct keep_head *head, const void *data,
                    keep_slot_add *add, void *arg, struct fault *why);

/* Replaces what is in the slot by a copy from elsewhere: the head, then `size` bytes. `next` gives
 * the next bytes, or false. *is_whole: the slot has it now. What is not this owner's, or differs
 * from its hash, is left out. False: `next` has failed, and the slot is torn. */
bool keep_slot_take(const struct keep_owner *o, int slot, uint64_t size,
                    bool (*next)(void *into, size_t size, void *arg), void *arg, bool *is_whole);

/* Reads head->size bytes into `into`, or only compares them with their hash (NULL). ML_ERR_REFUSED:
 * they are not what was kept; `into` is undefined then. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int keep_slot_read(const struct keep_owner *o, int slot, const struct keep_head *head, void *into,
                   struct fault *why);

/* Removes it. */
void keep_slot_drop(const struct keep_owner *o, int slot);

#endif
