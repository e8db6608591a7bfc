/* SPDX-License-Identifier: MIT */
/*
 * rail.h: one path to one peer: a port, a queue pair, and a ring of slots in each direction. A
 * chunk is an RDMA write with an immediate into the peer's next slot. The immediate:
 *
 *     31          24 23             16 15   14     13               0
 *     ├─────────────┼─────────────────┼────┼──────┼─────────────────┤
 *     │chunks taken │index on the rail│data│direct│ chunk's number  │
 *     └─────────────┴─────────────────┴────┴──────┴─────────────────┘
 *
 *   chunks taken: how many of the peer's chunks this side has consumed, which frees their slots
 *       (credit). A side with nothing to send writes zero bytes, without the data bit, to say so.
 *   index: counts the chunks of this rail. A gap shows that a chunk was lost.
 *   number counts the chunks of all rails to the peer, so that a chunk of a lost rail can be sent
 *       again over another one.
 *   direct, with data: the chunk went to the memory that the receiver had announced, not into the
 *       slot (zero_copy.h).
 *   direct, without data: the write was such an announcement; the number is its place in memory.
 *
 * All counters start at 0; in the immediate they wrap. A rail is used by one thread at a time. A
 * failure is stored in `failed`; from then on the rail moves nothing.
 */
#ifndef RDMA_RAIL_H
#define RDMA_RAIL_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/verbs/memory.h"
#include "rdma/verbs/rail_fit.h"

#include <stdbool.h>

enum { RAIL_BATCH = 16, RAIL_NUMBER_MASK = (1 << 14) - 1 };

struct rail_chunk {
    uint32_t size;   /* bytes */
    uint32_t number; /* modulo RAIL_NUMBER_MASK + 1 */
    bool is_direct;
    const void *from; /* a sent chunk's bytes; NULL: they are in its slot */
};

/* Source and destination of a chunk that does not go from slot to slot. */
struct rail_way {
    const void *from; /* NULL: the slot; else registered, and unchanged until rail_has_read */
    uint32_t key;     /* local key of `from` */
    bool is_direct;
    uint64_t to; /* if is_direct: the peer's address, with its key */
    uint32_t peer_key;
};

/* The memory into which the announcer wants message `serial` written. */
struct rail_announcement {
    uint64_t address, size;
    uint32_t serial;
    uint32_t keys[RDMA_RAILS]; /* a remote key for each rail */
};
_Static_assert(sizeof(struct rail_announcement) <= MEMORY_ANNOUNCEMENT,
               "an announcement fits into its place");

struct rail {
    struct rail_fit fit; /* its port is the rail's, its peer's name the endpoint's */
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sends, *receives; /* two, so that completed sends need not wake a sleeper */
    struct memory memory;
    struct queue_pair pair;
    int index;   /* among the rails to the peer; once connected the same at both ends */
    size_t room; /* largest chunk in bytes: a slot, or less if the port's messages are smaller */

    /* This side's chunks: given to the device, acknowledged, and consumed by the peer. */
    uint64_t posted, sent, peer_taken;
    /* The peer's chunks: arrived, consumed here, and reported to the peer as consumed. */
    uint64_t arrived, taken, credited;
    struct rail_chunk in[MEMORY_SLOTS];  /* arrived and not yet consumed */
    struct rail_chunk out[MEMORY_SLOTS]; /* posted last */
    int receives_posted;                 /* and not yet completed */
    int under_way;                       /* sends of any kind that have not completed */
    int announcing;                      /* announcements among them */
    struct rail_announcement announced[MEMORY_ANNOUNCEMENTS]; /* by the peer; size 0: none */
    unsigned receive_events, send_events;                     /* to be acknowledged */
    bool is_connected;
    struct fault failed; /* code != 0: the rail is of no more use */
    struct ibv_recv_wr receive_work[RAIL_BATCH];
};

struct rail_config {
    const char *device, *peer; /* `peer` must outlive the rail */
    struct rdma_choice choice;
};

/* Largest chunk over that port in bytes: a slot, or the port's largest message if that is less. */
size_t rail_room(const struct port *p);

/* Opens the port and creates the queue pair, with receives posted. ML_ERR_DEVICE, ML_ERR_LINK,
 * ML_ERR_MEMORY or ML_ERR_ARGUMENT (MTU). */
int rail_open(struct rail **out, const struct rail_config *c, struct fault *why);
void rail_close(struct rail *r); /* takes NULL and half-open rails */

void rail_publish(const struct rail *r, struct rail_end *out);
/* Connects the rail to its other end. is_low: this side is the lower rank. */
int rail_connect(struct rail *r, const struct rail_end *other, bool is_low, struct fault *why);

/* Handles what the device has received: > 0 if anything arrived. */
int rail_poll(struct rail *r);

/* The memory for the next chunk, r->room bytes; NULL: no slot is free now. */
void *rail_slot(struct rail *r);
/* Sends `size` bytes as chunk `number`, after rail_slot() returned a slot. `way` NULL: from slot to
 * slot. */
void rail_post(struct rail *r, size_t size, uint64_t number, const struct rail_way *way);
/* True once the device has read all chunks with numbers below `number` that were not in a slot.
 * Chunks of this rail before `index` are known to have arrived and are not looked at. */
bool rail_has_read(struct rail *r, uint64_t index, uint64_t number);

/* Writes an announcement to the peer. False: not possible now. */
bool rail_announce(struct rail *r, const struct rail_announcement *a);
/* The peer's announcement for message `serial`, or NULL. */
const struct rail_announcement *rail_announced(const struct rail *r, uint32_t serial);

/* The peer's next chunk on this rail, valid until rail_release; NULL: none has arrived. */
const void *rail_next(const struct rail *r, struct rail_chunk *what);
void rail_release(struct rail *r);

/* Requests an event on the channel for the next completion of a receive; `sends`: or of a send. */
void rail_arm(struct rail *r, bool sends);
/* Takes the events off the channel. */
void rail_disarm(struct rail *r);
/* Reports the consumed chunks to the peer again: on UC the last report may have been lost. */
void rail_repeat_credit(struct rail *r);
/* UC: the peer said some time ago that it had sent `sent` chunks over this rail. Fails the rail
 * unless all of them have arrived. */
void rail_expect(struct rail *r, uint64_t sent);
bool rail_is_reliable(const struct rail *r); /* RC */
/* Writes a few bytes to the peer if no send is under way: only a sender notices a dead cable. */
void rail_keepalive(struct rail *r);

/* Stops the queue pair. Once this returns the device writes nothing more, and r->arrived is
 * final. */
void rail_stop(struct rail *r);
/* The bytes of chunk `index` of this rail, which must be one of the last MEMORY_SLOTS posted. */
const void *rail_posted(const struct rail *r, uint64_t index, struct rail_chunk *what);

/* True once the peer's device has acknowledged every chunk, or the rail has failed. */
bool rail_is_flushed(struct rail *r);

/* Where this rail is, for sentences; valid as long as the rail. */
struct explain_place rail_place(const struct rail *r);

#endif
