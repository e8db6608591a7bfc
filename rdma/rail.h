/* SPDX-License-Identifier: MIT */
/*
 * rail.h: one way to one peer: a port, a queue pair, and a ring of slots in each direction. A chunk
 * is written with an immediate straight into the peer's next slot:
 *
 *     31          24 23             16 15   14     13               0
 *     ├─────────────┼─────────────────┼────┼──────┼─────────────────┤
 *     │chunks taken │number on rail   │data│direct│ chunk's number  │
 *     └─────────────┴─────────────────┴────┴──────┴─────────────────┘
 *
 * chunks taken: how many of the other side's this side is through with, which frees their slots;
 * where nothing is to be sent, an empty write without the data bit says it. number on rail: by it a
 * loss is noticed. chunk's number: among those of all rails to the peer, so that a chunk may go again
 * over another rail. Numbers count from 0 and wrap. direct: the chunk was not written into the slot but
 * where the receiver had announced that it wants it (zero_copy.h); without the data bit: this is such an
 * announcement, and the chunk's number is its place in the memory.
 */
#ifndef RDMA_RAIL_H
#define RDMA_RAIL_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/verbs/memory.h"
#include "rdma/verbs/port.h"
#include "rdma/verbs/queue_pair.h"

#include <stdbool.h>

enum { RAILS_MOST = 8 }; /* to one peer */
enum { RAIL_BATCH = 16, RAIL_NUMBER_MASK = (1 << 14) - 1 };

/* What one side publishes of a rail; integers in the host's order (both are of one build). */
struct rail_end {
    struct queue_pair_end pair;
    uint64_t address; /* of its memory */
    uint32_t key;
    int32_t gid_index; /* that its user named, or -1 */
    uint8_t link_layer;
    int32_t gid_count;
    struct gid gids[GID_MOST];
    char device[PORT_DEVICE];
    int32_t port;
};

struct rail_chunk {
    uint32_t size;   /* bytes */
    uint32_t number; /* RAIL_NUMBER_MASK */
    bool is_direct;
    const void *from; /* of one sent: where it lies; NULL: in its slot */
};

/* From where to where a chunk goes, where that is not from slot to slot. */
struct rail_way {
    const void *from; /* NULL: the slot; else registered, and unchanged until rail_has_read */
    uint32_t key;
    bool is_direct;
    uint64_t to; /* if it is direct, with the peer's key */
    uint32_t peer_key;
};

/* Where message `serial` of those to the announcer is to lie. */
struct rail_announcement {
    uint64_t address, size;
    uint32_t serial;
    uint32_t keys[RAILS_MOST];
};
_Static_assert(sizeof(struct rail_announcement) <= MEMORY_ANNOUNCEMENT, "it has a place");

struct rail {
    struct port *port;
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sends, *receives; /* apart: a send's completion need not wake a sleeper */
    struct memory memory;
    struct queue_pair pair;
    int gid_index;    /* named by the user, or -1 */
    int index;        /* among those to the peer, the same at both ends once connected */
    uint8_t mtu;      /* enum ibv_mtu */
    size_t room;      /* bytes of a chunk, at most: a slot's, or what the port takes in one */
    const char *peer; /* "rank 3 on host b"; the endpoint's */
    struct gid gid, peer_gid; /* once connected */
    uint64_t peer_address;
    uint32_t peer_key;

    uint64_t posted, sent,
        peer_took;                 /* chunks: given to the device, acknowledged, slots free again */
    uint64_t arrived, taken, told; /* the peer's chunks: here, done with, and what it knows of it */
    struct rail_chunk in[MEMORY_SLOTS];  /* those that are here */
    struct rail_chunk out[MEMORY_SLOTS]; /* those posted last */
    int receives_posted;                 /* and not yet completed */
    int under_way;                       /* sends of any kind not yet completed */
    int announcing;                      /* announcements among them */
    struct rail_announcement announced[MEMORY_ANNOUNCEMENTS]; /* by the peer; size 0: none */
    unsigned receive_events, send_events;                     /* to be acknowledged */
    bool is_connected;
    struct fault failed; /* code != 0: no more of this rail */
    struct ibv_recv_wr receive_work[RAIL_BATCH];
};

struct rail_config {
    const char *device, *peer;
    struct rdma_choice choice;
};

/* Bytes of a chunk over that port: a slot's, or what the port takes in one message if that is less. */
size_t rail_room(const struct port *p);

int rail_open(struct rail **out, const struct rail_config *c, struct fault *why);
void rail_close(struct rail *r); /* takes NULL and half-open ones */

void rail_publish(const struct rail *r, struct rail_end *out);
/* Connects it to the other side's; is_low: this is the lower rank. */
int rail_connect(struct rail *r, const struct rail_end *other, bool is_low, struct fault *why);

/* Takes in what the device has completed: > 0 if anything came. Failures are kept in r->failed. */
int rail_poll(struct rail *r);

/* Where the next chunk is to be put, MEMORY_SLOT bytes; NULL: there is no room. */
void *rail_slot(struct rail *r);
/* way: NULL: from slot to slot. */
void rail_post(struct rail *r, size_t size, uint64_t number, const struct rail_way *way);
/* Whether the device is through with all that is numbered below `number` and did not lie in a slot,
 * of the rail's chunks from `index` on (those before are known to have arrived). */
bool rail_has_read(struct rail *r, uint64_t index, uint64_t number);

/* Tells the peer. False: not now. */
bool rail_announce(struct rail *r, const struct rail_announcement *a);
/* What the peer has announced of message `serial`, or NULL. */
const struct rail_announcement *rail_announced(const struct rail *r, uint32_t serial);

/* The peer's next chunk on this rail, or NULL; it stays until rail_release. */
const void *rail_next(const struct rail *r, struct rail_chunk *what);
void rail_release(struct rail *r);

/* Asks for an event at the next completion; `sends`: of a send, too. */
void rail_arm(struct rail *r, bool sends);
/* Takes the events off the channel. */
void rail_disarm(struct rail *r);
/* The device's own news: a port that went down. */
void rail_look(struct rail *r);
/* Tells the peer of its free slots once more: on UC an earlier word may have been lost. */
void rail_repeat_credit(struct rail *r);
/* UC: the peer had sent `sent` chunks a while ago. Fails the rail if they have not come. */
void rail_expect(struct rail *r, uint64_t sent);
bool rail_is_reliable(const struct rail *r);
/* Writes a word to the peer if nothing is under way: a dead cable shows only to one who sends. */
void rail_sign(struct rail *r);

/* Ends it: when this returns the device writes nothing any more, and r->arrived is final. */
void rail_stop(struct rail *r);
/* What was posted as the rail's chunk `index`, one of the last MEMORY_SLOTS. */
const void *rail_posted(const struct rail *r, uint64_t index, struct rail_chunk *what);

bool rail_is_flushed(struct rail *r); /* all chunks acknowledged by the peer's device, or lost */

struct explain_place rail_place(const struct rail *r);

#endif
