/* SPDX-License-Identifier: MIT */
/*
 * fabric_message.h: what processes with an open device and the fabric send each other. Both are of
 * one build and on one machine, so these are the structs themselves.
 *
 * A device of a host is the socket /dev/infiniband/uverbsN.socket there (SOCK_SEQPACKET), which the
 * fabric listens on, and a file uverbsN, whose mode says who may use it. A connection is an open
 * context. First comes FABRIC_HELLO with the descriptor of the context's arena, then the answer
 * FABRIC_DEVICE; from then on both send what is named below. The end of the connection is the end
 * of the context.
 *
 * Bytes of messages lie in the sender's arena, a memfd of FABRIC_SLOTS slots, which the fabric
 * passes to each context that it delivers something from there (FABRIC_ARENA), and never maps. A
 * message is a train of segments, each of which takes one slot at most. The number of a queue pair
 * says which context it belongs to: fabric_context_of(). A slot belongs to the sender again when
 * the receiver says FABRIC_FREE, when the fabric says FABRIC_LOST, or when the receiver's context
 * is over (FABRIC_GONE).
 *
 * A device cannot know that a packet is lost, but the fabric tells the library, which counts its
 * time-outs and retries from there: so a process that gets no processor for a while is not taken
 * for a host that does not answer.
 */
#ifndef RDMA_STANDIN_FABRIC_MESSAGE_H
#define RDMA_STANDIN_FABRIC_MESSAGE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    FABRIC_VERSION = 1,
    FABRIC_CONTEXT_SHIFT = 12, /* a queue pair's number is context << 12 | its index, from 1 on */
    FABRIC_QPS_MOST = (1 << FABRIC_CONTEXT_SHIFT) - 1,             /* for each context */
    FABRIC_CONTEXTS_MOST = (1 << (24 - FABRIC_CONTEXT_SHIFT)) - 1, /* in a fabric, from 1 on */
    FABRIC_SLOTS = 64,
    FABRIC_SLOT_SIZE = 65536, /* bytes; a multiple of every MTU */
    FABRIC_NO_SLOT = FABRIC_SLOTS,
    FABRIC_OBJECTS_AT = FABRIC_SLOTS * FABRIC_SLOT_SIZE, /* in the arena: fabric_objects */
    FABRIC_ARENA_SIZE = FABRIC_OBJECTS_AT + 4096,
    FABRIC_PORTS_MOST = 2, /* at most, for each device */
    FABRIC_GIDS_MOST = 16, /* at most, for each port */
    FABRIC_NAME = 64,
};

enum fabric_kind {
    FABRIC_HELLO = 1, /* fabric_hello; to the fabric, with the arena's descriptor */
    FABRIC_DEVICE,    /* fabric_device; the answer */
    FABRIC_SEGMENT,   /* fabric_segment; both ways */
    FABRIC_LOST,  /* fabric_segment, as it was sent: to its sender, and if it is a response, also
                         to the context that it was for */
    FABRIC_FREE,  /* fabric_free; to the fabric, which passes it on to fabric_free.context at
                         once and outside all wires */
    FABRIC_ARENA, /* fabric_arena; from the fabric, with the descriptor */
    FABRIC_GONE,  /* fabric_gone; from the fabric to all contexts */
    FABRIC_PORT,  /* fabric_port_news; from the fabric */
};

struct fabric_hello {
    uint32_t kind, version;
};

/* What the profile says of a port, and how it is. */
struct fabric_port {
    struct ibv_port_attr attr;
    union ibv_gid gids[FABRIC_GIDS_MOST]; /* zero: none */
    uint8_t gid_types[FABRIC_GIDS_MOST];  /* enum ibv_gid_type */
};

struct fabric_device {
    uint32_t kind;
    uint32_t context;                            /* this connection's number, from 1 on */
    char host[FABRIC_NAME];                      /* as the profile calls it */
    struct ibv_device_attr attr;                 /* its limits hold */
    uint32_t qp_types;                           /* bit N: enum ibv_qp_type N can be created */
    uint32_t opcodes;                            /* bit N: enum ibv_wr_opcode N can be posted */
    uint32_t max_inline;                         /* bytes */
    bool has_events;                             /* completion channels */
    struct fabric_port ports[FABRIC_PORTS_MOST]; /* the first attr.phys_port_cnt of them */
};

/* How many objects of the context live, and how often its program has broken a rule. Behind the
 * arena's slots, so that whoever asks the fabric (the command `objects`, control.h) sees what the
 * program has done until then. */
struct fabric_objects {
    uint32_t pds, mrs, cqs, qps, broken;
};

/* What a segment is for its receiver. */
enum fabric_segment_type {
    FABRIC_SEND = 1, /* requests */
    FABRIC_WRITE,
    FABRIC_READ,
    FABRIC_COMPARE_SWAP,
    FABRIC_FETCH_ADD,
    FABRIC_ACK, /* responses */
    FABRIC_READ_RESPONSE,
    FABRIC_ATOMIC_RESPONSE,
};

enum fabric_segment_flags {
    FABRIC_FIRST = 1, /* segment of its message */
    FABRIC_LAST = 2,
    FABRIC_IMMEDIATE = 4, /* has an immediate; in its last segment */
    FABRIC_SOLICITED = 8,
    FABRIC_HAS_GRH = 16, /* the way to the receiver is global */
};

/* How a responder answers (fabric_segment.syndrome). */
enum fabric_syndrome {
    FABRIC_ACKED,
    FABRIC_NOT_READY, /* no receive was posted: wait for `rnr_timer` */
    FABRIC_WRONG_PSN, /* begin again at `psn` */
    FABRIC_INVALID,   /* remote invalid request */
    FABRIC_NO_ACCESS, /* remote access error */
    FABRIC_FAILED,    /* remote operation error */
    FABRIC_SILENT,    /* a device would not answer: as if it were lost */
};

/* One segment on its way from one queue pair to another. */
struct fabric_segment {
    uint32_t kind;
    uint8_t type;      /* enum fabric_segment_type */
    uint8_t qp_type;   /* enum ibv_qp_type: RC, UC or UD */
    uint8_t flags;     /* enum fabric_segment_flags */
    uint8_t port;      /* at the sender's device, from 1 on */
    uint8_t syndrome;  /* enum fabric_syndrome, of responses */
    uint8_t rnr_timer; /* as the attribute min_rnr_timer */
    uint8_t sgid_index, sl;
    uint32_t from_context; /* the fabric writes it */
    uint32_t slot;         /* in the sender's arena; FABRIC_NO_SLOT: no bytes */
    uint32_t length;       /* its bytes */
    uint32_t packets;      /* that a device would send for them, at least 1 */
    uint32_t from_qp, to_qp;
    uint32_t psn;       /* its first packet's number, 24 bits */
    uint32_t immediate; /* as the program gave it: no byte order is known here */
    uint32_t rkey, qkey;
    uint16_t to_lid, from_lid; /* to_lid: where `to` is zero; the fabric writes from_lid */
    uint32_t reads;            /* READs and atomics: how many are on their way, with this one */
    uint64_t address;          /* requests: where in the receiver's memory */
    uint64_t total;            /* bytes of the whole message; of a READ: bytes that are asked for */
    uint64_t offset;           /* where this segment begins in the message */
    uint64_t compare, swap_or_add; /* atomics; a response has the old value in `compare` */
    union ibv_gid to, from;        /* the fabric writes `from`: the GID at sgid_index */
};

struct fabric_free {
    uint32_t kind, context, slot;
};

struct fabric_arena {
    uint32_t kind, context; /* whose it is */
};

struct fabric_gone {
    uint32_t kind, context;
};

struct fabric_port_news {
    uint32_t kind, number;
    struct fabric_port port;
    uint32_t event; /* enum ibv_event_type that it is for programs */
};

static inline uint32_t fabric_context_of(uint32_t qp_number)
{
    return qp_number >> FABRIC_CONTEXT_SHIFT;
}

static inline bool fabric_gid_is_zero(const union ibv_gid *g)
{
    return g->global.subnet_prefix == 0 && g->global.interface_id == 0;
}

static inline bool fabric_is_response(const struct fabric_segment *s)
{
    return s->type >= FABRIC_ACK;
}

#endif
