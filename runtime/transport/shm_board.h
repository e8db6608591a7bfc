/* SPDX-License-Identifier: MIT */
/*
 * shm_board.h: where a group whose members all share memory meets. Each member has two lines, used
 * in turn, on which it posts "I have come this far", the call that it is in and a few bytes, and
 * four cells for more bytes. A post costs no system call, and everybody reads everybody's line: one
 * hop of a cache line, whatever the number of members.
 *
 * A call on the board is a sequence of rounds, the same on all members: write, post, wait for all,
 * read. A line is written again two rounds later: by then each other member has posted once more,
 * and so has read what it posts behind. A cell is written again four turns later, of which there is
 * at most one a round: what is written before post n may be read by others as long as they have not
 * made post n + 3.
 *
 *     member 0: │ line 0 │ line 1 │      cell 0 │ cell 1 │ cell 2 │ cell 3
 *     member 1: │ line 0 │ line 1 │      cell 0 │ cell 1 │ cell 2 │ cell 3
 */
#ifndef RUNTIME_TRANSPORT_SHM_BOARD_H
#define RUNTIME_TRANSPORT_SHM_BOARD_H

#include "runtime/group/message.h"
#include "runtime/process/processor.h"

#include <stdatomic.h>

enum { BOARD_LINES = 2, BOARD_CELLS = 4, BOARD_PAYLOAD = 88 };

struct board_line {
    _Alignas(PROCESSOR_LINE) _Atomic uint64_t at; /* the post's number, from 1; written last */
    struct message call;                          /* of a call's first post */
    unsigned char payload[BOARD_PAYLOAD];
};
_Static_assert(sizeof(struct board_line) == PROCESSOR_LINE, "fetched as one");

struct shm_board {
    struct group *group;
    unsigned char *lines; /* BOARD_LINES of rank 0 in the group */
    unsigned char *cells; /* its BOARD_CELLS, 64-byte aligned */
    size_t stride;        /* from a member's to the next one's, of both */
    size_t cell_size;
    uint64_t posted;  /* this rank's posts so far */
    uint64_t turns;   /* shm_board_turn so far */
    uint64_t awaited; /* the post that this rank waits for; 0: it doesn't */
};

/* Begins a call: the first round. Up to BOARD_PAYLOAD bytes go on the line. Returns once all
 * members have posted theirs; ML_ERR_MISMATCH if they are in another call, or what wait.h says. */
int shm_board_begin(struct shm_board *b, const void *payload, size_t size, struct fault *why);

/* Another round, with up to BOARD_PAYLOAD bytes on the line; one without; or its two halves,
 * between which there is time for work of one's own. */
int shm_board_tell(struct shm_board *b, const void *payload, size_t size, struct fault *why);
int shm_board_round(struct shm_board *b, struct fault *why);
void shm_board_post(struct shm_board *b);
int shm_board_wait(struct shm_board *b, struct fault *why);

static inline struct board_line *shm_board_line(const struct shm_board *b, int rank, uint64_t post)
{
    return (struct board_line *)(b->lines + (size_t)rank * b->stride) + post % BOARD_LINES;
}

/* What a member has put on its line, until the next round. */
static inline const unsigned char *shm_board_payload(const struct shm_board *b, int rank)
{
    return shm_board_line(b, rank, b->posted)->payload;
}

/* Goes on to the other cells. At least one round must follow before the next turn. */
static inline void shm_board_turn(struct shm_board *b)
{
    b->turns++;
}

/* A member's cell of `back` turns before this one: its own to write before a round, the others' to
 * read after it. */
static inline unsigned char *shm_board_cell(const struct shm_board *b, int rank, unsigned back)
{
    size_t number = (b->turns - back) % BOARD_CELLS;

    return b->cells + (size_t)rank * b->stride + number * b->cell_size;
}

/* For links, which shm_board.c calls: these two only look. */

/* Whether `rank` waits in a call that this rank has not come to: it sends and receives nothing else
 * until then. *call: which. */
static inline bool shm_board_is_ahead(const struct shm_board *b, int rank, struct message *call)
{
    const struct board_line *l = shm_board_line(b, rank, b->posted + 1);

    if (atomic_load_explicit(&l->at, memory_order_acquire) <= b->posted)
        return false;
    *call = l->call;
    return true;
}

/* Whether this rank waits for a post that `rank` has made. */
static inline bool shm_board_has_come(const struct shm_board *b, int rank)
{
    return b->awaited && atomic_load(&shm_board_line(b, rank, b->awaited)->at) >= b->awaited;
}

#endif
