/* SPDX-License-Identifier: MIT */
/* standin_link.h: a context's connection to the fabric, and the arena that its bytes lie in. */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_LINK_H
#define RDMA_STANDIN_OBJECTS_STANDIN_LINK_H

#include "rdma/standin/objects/standin_context.h"

/* Connects to the socket at `path` and fills c->device. 0 or an errno, which a sentence on standard
 * error explains if the device's file is not a socket of a fabric. */
int standin_link_open(struct standin_context *c, const char *path);
void standin_link_close(struct standin_context *c);

/* Sends a segment, or keeps it until there is room. */
void standin_link_send(struct standin_context *c, const struct fabric_segment *s);
/* Says that a slot of another context has been read. */
void standin_link_free(struct standin_context *c, uint32_t context, uint32_t slot);
/* Sends what was kept. True if none is left. */
bool standin_link_flush(struct standin_context *c);

union standin_arrival {
    uint32_t kind;
    struct fabric_segment segment;
    struct fabric_free free;
    struct fabric_arena arena;
    struct fabric_gone gone;
    struct fabric_port_news port;
};

/* The next message; 1 if there is one, 0 if none has come, -1 if the fabric has ended. A peer's
 * arena is taken here, and no message for the caller. */
int standin_link_receive(struct standin_context *c, union standin_arrival *a);

/* The bytes of a segment that has arrived; NULL: it has none, or its arena is not known. */
const unsigned char *standin_link_bytes(const struct standin_context *c,
                                        const struct fabric_segment *s);

/* A slot of the own arena for `q`, whose requests may have a part of all at most, so that the
 * answers to others' reads always find one; FABRIC_NO_SLOT: all are taken, and
 * standin_qp_continue() is called when one is free again. */
uint32_t standin_slot_take(struct standin_context *c, const struct standin_slot *as);
unsigned char *standin_slot_bytes(const struct standin_context *c, uint32_t slot);
void standin_slot_free(struct standin_context *c, uint32_t slot);
/* The segment is lost, and its slot free: unless that is another's by now, since its receiver's
 * context was over. */
void standin_slot_lost(struct standin_context *c, const struct fabric_segment *s);

#endif
