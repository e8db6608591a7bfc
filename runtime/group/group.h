/* SPDX-License-Identifier: MIT */
/* group.h: a set of ranks, this rank's links to them, and whether it still works. */
#ifndef RUNTIME_GROUP_GROUP_H
#define RUNTIME_GROUP_GROUP_H

#include "common/call_kinds.h"
#include "common/fault.h"
#include "common/mlaunch.h"
#include "common/net/shared_copy.h"
#include "runtime/process/thread_linux.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct combiner;
struct link;
struct pollfd;
struct rank_call;
struct rdma_meet;
struct world;

/* Which call a message belongs to: what both sides must agree on. */
struct call {
    uint64_t count; /* elements, or bytes of a share; of a CALL_SEND the message's bytes; of an
                     * all_gather_v those of all shares, of an all_to_all_v 0; with an operator of
                     * the program, the elements and their size (struct call_elements) */
    uint32_t seq;   /* the group's number of collective calls so far; 0 for CALL_SEND */
    uint8_t kind;
    uint8_t type;     /* a reduction's ml_type, another call's content (struct task), or 0 */
    uint8_t op;       /* ml_op, or 0 */
    int32_t root;     /* or -1 */
    uint32_t history; /* a digest of all collective calls up to this one; 0 for CALL_SEND */
    struct combiner *combiner; /* the program's operator, in place of type and op; or NULL */
};

/* How many elements an operator of the program combines, and how long each is, as struct call and
 * messages have it: `type` is CALL_OPERATOR, and `op` is 2 * (bits of the number) + is_commutative.
 * The number is in the low bits of `count`, and the size in the rest: their product is less than
 * 2^63, so there is room for both. */
enum { CALL_OPERATOR = 0xff };
struct call_elements {
    uint64_t number, size;
    bool is_commutative;
};
static inline uint64_t call_elements_pack(struct call_elements e, uint8_t *op)
{
    int bits = e.number ? 64 - __builtin_clzll(e.number) : 0;

    *op = (uint8_t)(2 * bits + e.is_commutative);
    return e.size << bits | e.number;
}
static inline struct call_elements call_elements_of(uint64_t count, uint8_t op)
{
    int bits = op / 2 % 64; /* they may come from a peer */

    return (struct call_elements){count & ((1ull << bits) - 1), count >> bits, op % 2};
}
static inline uint64_t call_elements_bytes(uint64_t count, uint8_t op)
{
    struct call_elements e = call_elements_of(count, op);

    return e.number * e.size;
}

/* A call's record (call_record.h). */
struct recorded {
    struct rank_call *at; /* NULL: it has none */
    uint32_t number;      /* at->number, until the record is another call's */
};

/* What the coordinator has said of a rank. */
enum peer_state { PEER_PRESENT, PEER_DEAD, PEER_LEFT };

/* What wait.c keeps for the thread that waits in the group (with the help of
 * wait_spread_linux.c). */
struct waiting_state {
    int bell;              /* a FIFO that ends a sleep (bell.h), or -1; made by group_join.c */
    int waker;             /* a pipe that ends a sleep too: more was started (progress.c), or -1 */
    struct pollfd *polls;  /* room for two of every link and four more */
    int long_lost;         /* waits that spun long in vain, less what successful ones made up for */
    unsigned long_skipped; /* waits since that could have spun long */
    int64_t spread_ns;     /* when this rank last moved to another processor */
    int64_t call_wait_ns;  /* how long the call under way has waited */
    unsigned moves;        /* how often something has moved, for a look at the door now and then */
    int64_t looked_ms;     /* when news were last read at the beginning of a call */
    uint32_t events_seen;  /* the serial number of the news up to which this thread has looked */
    bool is_stall_told;    /* COORD_WAITING was sent for this call */
    bool has_waited;       /* in this call, for more than some us */
    bool is_patient;       /* no thread waits for what is under way, so it can't be a stall */
};

/* EXCHANGED or SPLITTED, until the group takes it. */
struct reply {
    uint32_t seq;
    void *payload; /* owned, or the copy's; a 0 byte follows SPLITTED; NULL: none has come */
    uint32_t size;
    struct shared_copy copy; /* that all members on this host share; with a map, or empty */
};

/* The receive by tag, or probe, that has waited longest for its message; from and tag may be
 * ML_ANY. */
struct awaited_tag {
    bool waits, probes;
    int from, tag;
};

/* What the coordinator sent for the group. Only coord_events.c and coord_news.c use it, under the
 * former's lock, in any thread. */
struct inbox {
    struct fault broken; /* code != 0: the coordinator said BROKEN */
    struct reply reply;
    struct mail *mail; /* what members sent to this rank through the coordinator, oldest first */
    bool has_come;     /* any of the above, since its owner's bell was last looked at */
    struct answer {    /* to AGREE or CREATE */
        bool has_come;
        uint64_t value;
        struct fault failed; /* code != 0: why there is no value */
    } answer;
    bool sleeps;        /* its thread is between coord_events_sleep_begin and _end */
    struct group *next; /* among all groups of the process */
};

/* The call under way as sentences and reports say it. */
struct call_words {
    const char *name;      /* "all_reduce" */
    const char *algorithm; /* "ring"; NULL: the call has no choice of algorithms */
    const char *site;      /* where in the program it is, as ml_next_place has said, or NULL */
};

/* call_record.h's. */
struct call_records {
    struct recorded now; /* the record of the call under way */
    uint64_t next, past; /* those that are taken for the next calls */
};

/* What ml_next_* has said of the next task, which takes it (api_call.c). */
struct next_call {
    _Atomic uint8_t content;    /* 0: nothing, and so bytes */
    _Atomic(const char *) site; /* NULL: nothing */
    _Atomic(void *) stream;     /* NULL: nothing */
};

/* The memory that the group's members on this host share; opened and closed by group_join.c. */
struct shared_memory {
    struct shm_segment *segment; /* NULL: it has no other member here */
    struct sleeper_slot *slots;  /* by rank, if all members share it; else NULL */
    struct shm_coll *coll;       /* if all members share it, else NULL */
};

/* For collectives; grows (group_scratch). */
struct working_memory {
    void *memory;
    size_t size;
};

/* Who is in the group. */
struct group_users {
    _Atomic int thread;         /* whose call has not returned (group_hold), or 0; less than 0: that
                                 * which ends or revokes the group, and others wait for */
    _Atomic(const char *) call; /* then: the call's name, for sentences */
    int lookers;                /* group_look_begin without group_look_end; group.c's lock */
    bool is_over;               /* there shall be no more of them; group.c's lock */
};

/* One thread at a time uses a group: the caller's, or progress.c's while under_way is not 0. The
 * inbox is the exception. */
struct group {
    struct world *world;     /* NULL: the group is gone, and so is what the below points to */
    uint32_t id;             /* the coordinator's number */
    int rank, size;          /* in this group */
    int *members;            /* world rank of each */
    int *host_of;            /* host index of each */
    struct call call;        /* the call under way */
    struct call_words words; /* … for people */
    size_t call_rest;        /* bytes of the call that are not in the piece that is carried out;
                              * 0: it is carried out as a whole */
    struct call_records records;
    uint32_t calls;      /* collective calls so far */
    uint64_t history;    /* a digest of them; messages carry its low half */
    uint32_t exchanges;  /* EXCHANGE and SPLIT so far */
    struct fault broken; /* code != 0: what every call returns from now on */
    struct working_memory scratch;

    /* Links, made by group_join.c: */
    struct link **links;  /* per rank of the group, its own included */
    struct link **active; /* links on which something is queued (message_op.c) */
    int active_count;
    bool is_world;    /* the world, of whatever membership */
    bool is_window;   /* a window's: it has few messages, and needs little shared memory for them */
    bool uses_tcp;    /* some members talk over TCP; the same value on every member */
    size_t gpu_piece; /* bytes of a piece of a long call with buffers on GPUs (task_pieces.h), the
                       * same value on every member; 0: none is cut */
    bool runs_apart;  /* calls are hashed, or may be cut */
    struct tcp_mesh *mesh;       /* connects the links over TCP, or NULL */
    struct rdma_meet *meet;      /* connects the links over RDMA, or NULL */
    struct hierarchy *hierarchy; /* hierarchy.h, or NULL */
    struct shared_memory shared;
    int *peer_bells;           /* per rank: its bell (sleeper.c), or -1: not opened */
    struct peer_memory *peers; /* the members' memory of ml_alloc; NULL: not needed so far */

    struct matching *matching;  /* matching.c: messages with tags; NULL: none so far */
    struct awaited_tag awaited; /* matching.c */

    /* progress.c: what was started. While under_way is not 0 the group belongs to its thread. */
    struct progress *progress; /* NULL: nothing was started so far */
    _Atomic unsigned under_way;
    struct group_users users;
    _Atomic bool is_retired; /* it ended with its membership: calls return `broken` for ever */
    struct next_call next;
    int sent_itself; /* messages to this rank itself, less those received: of all calls so far */

    struct waiting_state waiting;
    struct inbox inbox;
    struct group *unused_next; /* group.c: of those that are gone */
};

/* Makes the group `id` of `size` members (world ranks, in group order, copied), without links;
 * group_join (group_join.h) makes one that works. ML_ERR_MEMORY. group_destroy takes NULL and
 * half-made groups; it is not held any more then. The struct stays readable for good, with no
 * world; a later group may get it. */
int group_create(struct group **out, struct world *w, uint32_t id, const int *members, int size,
                 struct fault *why);
void group_destroy(struct group *g);

/* From here until group_release the group belongs to this thread: nobody else makes calls on it, or
 * ends it. False: it belongs to a thread already. One that is gone can be held too, so look at its
 * world then. */
static inline bool group_hold_as(struct group *g, int thread, const char *call)
{
    int nobody = 0;

    if (!atomic_compare_exchange_strong_explicit(&g->users.thread, &nobody, thread,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_store_explicit(&g->users.call, call, memory_order_relaxed);
    return true;
}
static inline bool group_hold(struct group *g, const char *call)
{
    return group_hold_as(g, thread_self(), call);
}
static inline void group_release(struct group *g)
{
    atomic_store_explicit(&g->users.thread, 0, memory_order_release);
}

/* For threads that don't hold g and only look at its members and its world: these stay until
 * group_look_end, for which the group's end waits. False: it is gone. */
bool group_look_begin(struct group *g);
void group_look_end(struct group *g);

/* True if anything that was started on g is not done yet. Any thread may ask. */
static inline bool group_is_busy(struct group *g)
{
    return atomic_load_explicit(&g->under_way, memory_order_acquire) != 0;
}

/* "rank 3 on host b", for sentences: the world rank, as the launcher counts. Returns `text`. */
enum { GROUP_MEMBER_TEXT = 320 };
const char *group_describe(const struct group *g, int rank, char text[GROUP_MEMBER_TEXT]);

/* At least `size` bytes of the group's working memory, 64-byte aligned, valid until the next
 * group_scratch. NULL: out of memory. */
void *group_scratch(struct group *g, size_t size);

#endif
