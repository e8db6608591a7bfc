/* SPDX-License-Identifier: MIT */
/*
 * frame_stream.h: frames to and from the launcher over two descriptors (or one socket), on a
 * libevent loop. Sending never blocks: what doesn't fit is kept. Who sends much (output.c) bounds
 * itself by the credit window, so what is kept stays small.
 */
#ifndef LAUNCHER_PROTOCOL_FRAME_STREAM_H
#define LAUNCHER_PROTOCOL_FRAME_STREAM_H

#include "common/fault.h"
#include "common/frame.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct frame_stream;

/* Called from the loop. on_end: the peer is gone (why is NULL) or talks nonsense, or reading or
 * writing failed; once, nothing comes after it. The stream may not be closed in either. */
struct frame_stream_events {
    void (*on_frame)(const struct frame *f, void *arg);
    void (*on_end)(const char *why, void *arg);
    void (*on_written)(void *arg); /* all that was kept has been written */
    void *arg;
};

/* For the process, once: output is allocated as it comes and freed as it has gone, 128 KiB at a
 * time at full rate. The C library would map and unmap each: a page fault for every 4 KiB, a third
 * of the processor's time. */
void frame_stream_keep_memory(void);

/* Takes over both descriptors (they may be the same) and makes them non-blocking. */
int frame_stream_open(struct frame_stream **out, struct event_base *base, int in, int out_fd,
                      const struct frame_stream_events *events, struct fault *why);
void frame_stream_close(struct frame_stream *s); /* takes NULL */

/* Nothing happens after the end. */
void frame_stream_send(struct frame_stream *s, int type, const void *payload, size_t size);
/* The payload in two parts. */
void frame_stream_send_parts(struct frame_stream *s, int type, const void *head, size_t head_size,
                             const void *body, size_t body_size);
void frame_stream_send_json(struct frame_stream *s, int type,
                            json_t *object); /* takes over the reference */

/* Ends it from this side: on_end is called, unless it has been. */
void frame_stream_fail(struct frame_stream *s, const char *why);

size_t frame_stream_kept(const struct frame_stream *s); /* bytes that wait to be written */
bool frame_stream_has_ended(const struct frame_stream *s);
/* Whole frames that have come since the last call. */
unsigned frame_stream_frames(struct frame_stream *s);

#endif
