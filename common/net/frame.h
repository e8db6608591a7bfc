/* SPDX-License-Identifier: MIT */
/*
 * frame.h: control messages on a byte stream: a length, a version, a type, a payload
 * (doc/protocol.md, "Frames"). The reader does no I/O, so that libevent programs, poll() loops and
 * fuzzers share it.
 */
#ifndef COMMON_NET_FRAME_H
#define COMMON_NET_FRAME_H

#include "common/fault.h"

#include <stdint.h>

enum {
    FRAME_HEADER = 8,          /* bytes: u32 length of the payload, u8 version, u8 type, u16 zero */
    FRAME_VERSION = 1,         /* raised when the meaning of a payload changes */
    FRAME_LIMIT = 64 << 20,    /* most payload bytes on any channel */
    FRAME_LIMIT_SMALL = 65536, /* most payload bytes until a peer that was called proves itself */
};

struct frame {
    uint8_t type;
    uint32_t size;    /* bytes of payload */
    uint8_t *payload; /* owned by the reader, valid until its next call, followed by a 0 byte */
};

/* Packs the header of a frame with `size` bytes of payload. */
void frame_header(uint8_t out[FRAME_HEADER], uint8_t type, uint32_t size);

/* Reads the frames of one direction of a stream. */
struct frame_reader;
int frame_reader_create(struct frame_reader **out, uint32_t limit, struct fault *why);
void frame_reader_destroy(struct frame_reader *r); /* takes NULL */
/* Sets the most bytes of payload that are accepted. */
void frame_reader_limit(struct frame_reader *r, uint32_t limit);

/* Adds `size` bytes that came from the stream. ML_ERR_MEMORY. */
int frame_reader_feed(struct frame_reader *r, const void *bytes, size_t size, struct fault *why);

/* The same without a copy: frame_reader_room provides room for `size` bytes at *at until the next
 * call; frame_reader_add says how many of them have come. */
int frame_reader_room(struct frame_reader *r, size_t size, uint8_t **at, struct fault *why);
void frame_reader_add(struct frame_reader *r, size_t size);

/* 1: *out is the next frame; 0: more bytes are needed; ML_ERR_REFUSED: a wrong version, or a length
 * beyond the limit (checked before memory is allocated for it). */
int frame_reader_next(struct frame_reader *r, struct frame *out, struct fault *why);

/* Send or receive one frame, for clients without a loop: they block until `deadline_ms` (clock_ms;
 * -1: no limit). ML_ERR_TIMEOUT; ML_ERR_PEER: the peer has closed the connection. `fd` may be
 * non-blocking; frame_send needs a socket and never raises SIGPIPE. */
int frame_send(int fd, uint8_t type, const void *payload, uint32_t size, int64_t deadline_ms,
               struct fault *why);
int frame_recv(int fd, struct frame_reader *r, struct frame *out, int64_t deadline_ms,
               struct fault *why);

#endif
