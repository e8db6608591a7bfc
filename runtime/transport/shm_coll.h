/* SPDX-License-Identifier: MIT */
/*
 * shm_coll.h: short data between all members of a group that share memory, the board. Each member
 * has two lines, used in turn, on which it posts a number ("I have come this far"), the call that
 * it is in and a few bytes, and four cells for more bytes. A post costs no system call, and each
 * member reads every line: one transfer of a cache line, whatever the number of members.
 *
 * A call on the board is a sequence of rounds, the same on all members: write, post, wait for all,
 * read. A line is written again two rounds later: by then each other member has posted once more,
 * and so has read what it needed of it. A cell is written again four turns later, and there is at
 * most one turn a round: what is written before post n may be read by others until they make post n
 * + 3. The store of `at` releases what was written and read before, and its load acquires it
 * (doc/notes/memory-order.md). Only the thread that uses the group may call these functions.
 *
 *     member 0: │ line 0 │ line 1 │      cell 0 │ cell 1 │ cell 2 │ cell 3
 *     member 1: │ line 0 │ line 1 │      cell 0 │ cell 1 │ cell 2 │ cell 3
 */
#ifndef RUNTIME_TRANSPORT_SHM_COLL_H
#define RUNTIME_TRANSPORT_SHM_COLL_H

#include "runtime/group/message.h"
#include "runtime/process/processor.h"

#include <stdatomic.h>

enum { SHM_COLL_LINES = 2, SHM_COLL_CELLS = 4, SHM_COLL_PAYLOAD = 88 };

struct shm_coll_line {
    _Alignas(PROCESSOR_LINE) _Atomic uint64_t at; /* the number of the post, from 1; written last */
    struct message call;                          /* a call's first post */
    unsigned char payload[SHM_COLL_PAYLOAD];
};
_Static_assert(sizeof(struct shm_coll_line) == PROCESSOR_LINE, "fetched as one");

struct shm_coll {
    struct group *group;
    unsigned char *lines; /* SHM_COLL_LINES of rank 0 in the group */
    unsigned char *cells; /* its SHM_COLL_CELLS, 64-byte aligned */
    size_t stride;        /* bytes from a member's to the next one's, of lines and of cells */
    size_t cell_size;
    uint64_t posted;  /* this rank's posts so far */
    uint64_t turns;   /* calls of shm_coll_turn so far */
    uint64_t awaited; /* the post that this rank waits for, or 0 */
};

/* Begins a call with its first round. Up to SHM_COLL_PAYLOAD bytes are posted on the line. Returns
 * once all members have posted; ML_ERR_MISMATCH if one of them is in another call, or the errors of
 * wait_step. */
int shm_coll_begin(struct shm_coll *b, const void *payload, size_t size, struct fault *why);

/* Another round: shm_coll_tell with up to SHM_COLL_PAYLOAD bytes on the line, shm_coll_round
 * without. shm_coll_post and shm_coll_wait are its two halves, between which the rank can do work
 * of its own. */
int shm_coll_tell(struct shm_coll *b, const void *payload, size_t size, struct fault *why);
int shm_coll_round(struct shm_coll *b, struct fault *why);
void shm_coll_post(struct shm_coll *b);
int shm_coll_wait(struct shm_coll *b, struct fault *why);

static inline struct shm_coll_line *shm_coll_line(const struct shm_coll *b, int rank, uint64_t post)
{
    return (struct shm_coll_line *)(b->lines + (size_t)rank * b->stride) + post % SHM_COLL_LINES;
}

/* What a member has posted on its line; valid until the next round. */
static inline const unsigned char *shm_coll_payload(const struct shm_coll *b, int rank)
{
    return shm_coll_line(b, rank, b->posted)->payload;
}

/* Goes on to the next cell. At least one round must follow before the next turn. */
static inline void shm_coll_turn(struct shm_coll *b)
{
    b->turns++;
}

/* The cell that a member used `back` turns ago: its owner writes it before a round, the others read
 * it after that. */
static inline unsigned char *shm_coll_cell(const struct shm_coll *b, int rank, unsigned back)
{
    size_t number = (b->turns - back) % SHM_COLL_CELLS;

    return b->cells + (size_t)rank * b->stride + number * b->cell_size;
}

/* For shm_link.c. These two only look. */

/* True if `rank` waits in a call on the board that this rank has not reached, so that it sends and
 * receives nothing else until then. *call: which call. The load is sequentially consistent, since
 * it is the last look before a sleep (sleeper.h): an acquire may overtake the store of is_asleep.
 */
static inline bool shm_coll_is_ahead(const struct shm_coll *b, int rank, struct message *call)
{
    const struct shm_coll_line *l = shm_coll_line(b, rank, b->posted + 1);

    if (atomic_load(&l->at) <= b->posted)
        return false;
    *call = l->call;
    return true;
}

/* True if this rank waits for a post and `rank` has made it. */
static inline bool shm_coll_has_come(const struct shm_coll *b, int rank)
{
    return b->awaited && atomic_load(&shm_coll_line(b, rank, b->awaited)->at) >= b->awaited;
}

#endif
