/* SPDX-License-Identifier: MIT */
/*
 * frame_stream.h: frames (common/net/frame.h) in both directions over one socket or two
 * descriptors, on a libevent loop. Sending never blocks: bytes that the descriptor does not take
 * are kept. Code that sends much (rank_output.c) limits itself by a window of credit, so little is
 * kept.
 */
#ifndef LAUNCHER_WIRE_PROTOCOL_FRAME_STREAM_H
#define LAUNCHER_WIRE_PROTOCOL_FRAME_STREAM_H

#include "common/fault.h"
#include "common/net/frame.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct frame_stream;

/* Called from the loop; on_end also from within a send. on_end is called once, and nothing after
 * it: the peer is gone (why is NULL), has sent an invalid frame, or reading or writing failed. The
 * stream must not be closed within any of them. */
struct frame_stream_events {
    void (*on_frame)(const struct frame *f, void *arg);
    void (*on_end)(const char *why, void *arg);
    void (*on_written)(void *arg); /* all bytes that were kept have been written; or NULL */
    void *arg;
};

/* Call it once in a process that carries much output, which is allocated and freed in blocks
 * of 128 KiB. The C library would map and unmap each block, with a page fault for every 4 KiB,
 * which takes a third of the processor's time. */
void frame_stream_keep_memory(void);

/* Takes over both descriptors (they may be the same) on success, and makes them non-blocking.
 * ML_ERR_MEMORY; ML_ERR_SYSTEM: one of them cannot be used. */
int frame_stream_open(struct frame_stream **out, struct event_base *base, int in, int out_fd,
                      const struct frame_stream_events *events, struct fault *why);
void frame_stream_close(struct frame_stream *s); /* takes NULL */

/* These three do nothing after the end. */
void frame_stream_send(struct frame_stream *s, int type, const void *payload, size_t size);
/* The payload in two parts. */
void frame_stream_send_parts(struct frame_stream *s, int type, const void *head, size_t head_size,
                             const void *body, size_t body_size);
void frame_stream_send_json(struct frame_stream *s, int type,
                            json_t *object); /* takes over the reference */

/* Writes what is kept now, as far as the descriptor takes it, and not in the next turn of the loop:
 * for a process that has work to do while its peer reads. Does not call on_written. */
void frame_stream_flush(struct frame_stream *s);

/* Ends the stream from this side: calls on_end unless that has been called. */
void frame_stream_fail(struct frame_stream *s, const char *why);

size_t frame_stream_kept(const struct frame_stream *s); /* bytes that are kept */
bool frame_stream_has_ended(const struct frame_stream *s);
/* The number of whole frames that have arrived since the last call. */
unsigned frame_stream_frames(struct frame_stream *s);

#endif
