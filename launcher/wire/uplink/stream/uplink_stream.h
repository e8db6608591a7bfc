/* SPDX-License-Identifier: MIT */
/*
 * uplink_stream.h: one uplink after its handshake: sealed frames in both directions on a libevent
 * loop, at either end. Sending never blocks: bytes that the socket does not take are kept.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_STREAM_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_STREAM_H

#include "common/net/auth.h"
#include "common/net/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct uplink_gather;
struct uplink_stream;

/* Once UPLINK_KEPT bytes are kept, a sender of more should wait for on_room. */
enum { UPLINK_KEPT = 1 << 20 };

/* Whom a frame is for: the host at the other end, or one below that. */
struct uplink_route {
    struct uplink_stream *stream;
    int host;                     /* -1: the other end itself */
    struct uplink_gather *gather; /* the stream's; NULL: it has none */
};

/* Called from the loop. on_end comes once, and nothing after it; `why` is never NULL. The stream
 * must not be closed within any of them. */
struct uplink_stream_events {
    void (*on_frame)(const struct frame *f, void *arg);
    void (*on_end)(const char *why, void *arg);
    void (*on_room)(void *arg); /* fewer than UPLINK_KEPT bytes are kept */
    void *arg;
};

/* Takes over the socket on success. ML_ERR_MEMORY. */
int uplink_stream_open(struct uplink_stream **out, struct event_base *base, int fd,
                       const struct auth_keys *keys, const struct uplink_stream_events *events,
                       struct fault *why);
void uplink_stream_close(struct uplink_stream *s); /* takes NULL */

/* These do nothing after the end. `size` is at most UPLINK_LIMIT, less 9 bytes. */
void uplink_stream_send(struct uplink_stream *s, int type, const void *payload, size_t size);
void uplink_stream_send_tagged(struct uplink_stream *s, int type, uint32_t word, const void *bytes,
                               size_t size);
void uplink_route_send(const struct uplink_route *to, int type, const void *payload, size_t size);
void uplink_route_send_tagged(const struct uplink_route *to, int type, uint32_t word,
                              const void *bytes, size_t size);

/* `head`, then `bytes`. */
void uplink_stream_send_parts(struct uplink_stream *s, int type, const void *head, size_t head_size,
                              const void *bytes, size_t size);
/* `first`, which may be NULL, is called before each frame that is sent, and may send others. */
void uplink_stream_set_first(struct uplink_stream *s, void (*first)(void *arg), void *arg);

/* Sends what is kept, and then end of file; the peer's end is reported as usual. */
void uplink_stream_finish(struct uplink_stream *s);

/* Stops reading, so that the other side has to wait; or goes on. */
void uplink_stream_hold(struct uplink_stream *s, bool is_held);
bool uplink_stream_is_held(const struct uplink_stream *s);

size_t uplink_stream_kept(const struct uplink_stream *s);
/* Ends the stream from this side. */
void uplink_stream_fail(struct uplink_stream *s, const char *why);

/* The word that begins a frame, and what follows it. False: the frame is too short. */
bool uplink_stream_word(const struct frame *f, uint32_t *word, const uint8_t **rest, size_t *size);

/* What a frame of UPLINK_ROUTED has, in place: whom it is for or from, and the frame. False: it is
 * too short, or has another such frame within. */
bool uplink_route_take(const struct frame *f, uint32_t *host, struct frame *inner);

#endif
