/* SPDX-License-Identifier: MIT */
/* group.h: a set of ranks, this rank's links to them, and whether it still works. */
#ifndef RUNTIME_GROUP_GROUP_H
#define RUNTIME_GROUP_GROUP_H

#include "common/fault.h"
#include "common/mlaunch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;
struct pollfd;
struct world;

/* Which call a message belongs to: what both sides must agree on. */
enum call_kind {
    CALL_BARRIER = 1,
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_REDUCE,
    CALL_ALL_GATHER,
    CALL_ALL_TO_ALL,
    CALL_BROADCAST,
    CALL_GATHER,
    CALL_SCATTER,
    CALL_SEND, /* recv, sendrecv too */
    CALL_SPLIT,
};
struct call {
    uint64_t count; /* elements, or bytes of a share; of a CALL_SEND the message's bytes */
    uint32_t seq;   /* the group's number of collective calls so far; 0 for CALL_SEND */
    uint8_t kind;
    uint8_t type; /* ml_type, or 0 */
    uint8_t op;   /* ml_op, or 0 */
    uint8_t zero;
    int32_t root; /* or -1 */
};

/*
 * One thread at a time uses a group: the caller's, or the progress thread while under_way is not 0. The members below
 * `news.c` are the exception.
 */
struct group {
    struct world *world;
    uint32_t id;           /* the coordinator's number; COORD_WORLD for the world */
    int rank, size;        /* in this group */
    int *members;          /* world rank of each */
    struct link **links;   /* per rank of the group, its own included */
    struct call call;      /* the call under way */
    const char *call_name; /* "all_reduce" */
    uint32_t calls;        /* collective calls so far */
    struct fault broken;   /* code != 0: what every call returns from now on */
    void *scratch;         /* for collectives; grows */
    size_t scratch_size;
    int *host_of;                /* host index of each rank of the group */
    struct hierarchy *hierarchy; /* hierarchy.h, or NULL */
    bool uses_tcp;               /* some members talk over TCP; the same value on every member */

    /* group_join.c and wait.c: */
    int bell;             /* a FIFO that wakes this group's sleeper (bell.h), or -1 */
    uint32_t exchanges;   /* EXCHANGE and SPLIT so far */
    struct link **active; /* links on which something is queued */
    int active_count;
    struct pollfd *polls;        /* room for every link's and three more */
    struct shm_segment *segment; /* shared with the group's members on this host, or NULL */
    int *peer_bells;             /* per rank: its bell (sleeper.c), or -1: not looked for yet */
    struct sleeper_slot *slots;  /* where all members share memory, by rank; else NULL */
    struct shm_board *board;     /* the same */
    struct peer_memory *peers;   /* the members' memory of ml_alloc; NULL: none was needed yet */
    int64_t spread_ns; /* when this rank last moved to another processor (wait_spread_linux.c) */
    int long_lost;     /* waits that spun long in vain, as wait.c counts them */
    unsigned long_skipped; /* waits since that could have spun long */
    bool stall_told;       /* COORD_WAITING was sent for this call */
    int64_t looked_ms;     /* when news were last read at the beginning of a call */
    int waker;             /* ends a sleep too: more was started (progress.c), or -1 */
    bool is_patient;       /* nobody waits for what is under way: it can't be a stall */

    /* progress.c: what was started. While under_way the group is its thread's. */
    struct progress *progress; /* NULL: nothing ever was */
    _Atomic unsigned under_way;
    int sent_itself; /* messages to this rank itself, less those received: of all calls so far */

    /* news.c, under its lock: */
    struct fault reported; /* the coordinator said BROKEN */
    struct reply {
        bool is_there;
        uint32_t seq;
        uint8_t type;
        void *payload; /* owned; a 0 byte stands behind it */
        uint32_t size;
    } reply;            /* EXCHANGED or SPLITTED, until the group takes it */
    struct mail *mail;  /* what members had relayed to this rank, oldest first */
    struct group *next; /* of all groups of the process */
    uint32_t news_seen; /* the owner's: up to where it has looked */
};

/* Makes the group `id` of `size` members (world ranks, in group order, copied), without links; group_join
 * (group_join.h) makes one that works. ML_ERR_MEMORY. group_destroy takes NULL and half-made groups. */
int group_create(struct group **out, struct world *w, uint32_t id, const int *members, int size,
                 struct fault *why);
void group_destroy(struct group *g);

/* True if anything that was started on g is not done yet. Any thread may ask. */
static inline bool group_is_busy(struct group *g)
{
    return atomic_load_explicit(&g->under_way, memory_order_acquire) != 0;
}

/* "rank 3 on host b", for sentences: the world rank, as the launcher counts. Returns `text`. */
enum { GROUP_MEMBER_TEXT = 320 };
const char *group_describe(const struct group *g, int rank, char text[GROUP_MEMBER_TEXT]);

/* At least `size` bytes of the group's working memory, 64-byte aligned, valid until the next group_scratch. NULL: out
 * of memory. */
void *group_scratch(struct group *g, size_t size);

#endif
