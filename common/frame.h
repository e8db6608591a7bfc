/* SPDX-License-Identifier: MIT */
/*
 * frame.h: control messages on any byte stream: a length, a version, a type, a payload
 * (doc/protocol.md, "Frames"). No I/O here: bytes in, frames out, so that libevent programs, poll()
 * loops and fuzzers use the same parser.
 */
#ifndef COMMON_FRAME_H
#define COMMON_FRAME_H

#include "common/fault.h"

#include <stdint.h>

enum {
    FRAME_HEADER = 8,          /* bytes: u32 length of the payload, u8 version, u8 type, u16 zero */
    FRAME_VERSION = 1,         /* raised when a payload's meaning changes */
    FRAME_LIMIT = 64 << 20,    /* payload bytes: no channel accepts more */
    FRAME_LIMIT_SMALL = 65536, /* payload bytes before a peer has proved who it is */
};

struct frame {
    uint8_t type;
    uint32_t size;    /* bytes of payload */
    uint8_t *payload; /* the reader's, valid until its next call; a 0 byte stands behind it */
};

/* Packs the header of a frame with `size` bytes of payload. */
void frame_header(uint8_t out[FRAME_HEADER], uint8_t type, uint32_t size);

/* A growing view of one direction of a stream. */
struct frame_reader;
int frame_reader_create(struct frame_reader **out, uint32_t limit, struct fault *why);
void frame_reader_destroy(struct frame_reader *r); /* takes NULL */
void frame_reader_limit(struct frame_reader *r, uint32_t limit);

/* Takes all `size` bytes that came from the stream. ML_ERR_MEMORY. */
int frame_reader_feed(struct frame_reader *r, const void *bytes, size_t size, struct fault *why);

/* The same without a copy: room for `size` bytes at *at until the next call, and how many of them have come. */
int frame_reader_room(struct frame_reader *r, size_t size, uint8_t **at, struct fault *why);
void frame_reader_add(struct frame_reader *r, size_t size);

/* 1 and *out set: a whole frame; 0: more bytes needed; ML_ERR_REFUSED: wrong version or a length
 * beyond the limit (checked before anything is allocated). */
int frame_reader_next(struct frame_reader *r, struct frame *out, struct fault *why);

/* Blocking helpers on a descriptor for clients without a loop: poll() until `deadline_ms` (clock_ms;
 * -1: no limit), then ML_ERR_TIMEOUT; the peer's close is ML_ERR_PEER. The descriptor may be
 * non-blocking. SIGPIPE is never raised (send with MSG_NOSIGNAL: sockets only). */
int frame_send(int fd, uint8_t type, const void *payload, uint32_t size, int64_t deadline_ms,
               struct fault *why);
int frame_recv(int fd, struct frame_reader *r, struct frame *out, int64_t deadline_ms,
               struct fault *why);

#endif
