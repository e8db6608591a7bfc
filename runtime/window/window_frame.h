/* SPDX-License-Identifier: MIT */
/*
 * window_frame.h: what ranks send each other for parts that are served (doc/protocol.md,
 * "Windows"): a frame is one message, and the bytes of a longer put, or of the reply to a longer
 * get, are the next one. The target handles the frames of a rank in order, and answers in order.
 */
#ifndef RUNTIME_WINDOW_WINDOW_FRAME_H
#define RUNTIME_WINDOW_WINDOW_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum window_frame_kind {
    FRAME_PUT = 1, /* `size` bytes to `offset`; then, if it signals, `value` is added to `number` */
    FRAME_GET,     /* `size` bytes of `offset`, which the reply brings */
    FRAME_ADD,     /* adds `value` to the uint64_t at `offset`; the reply's value is the old one */
    FRAME_SWAP,    /* the same, but writes `value` if it is `number` */
    FRAME_FLUSH,   /* asks for a reply */
    FRAME_LEAVE,   /* the sender has called ml_window_free: it asks for nothing more */
    FRAME_END,     /* the sender's last: all ranks have called ml_window_free */
    FRAME_REPLY,   /* to the oldest frame that has none yet */
    FRAME_PUTS,    /* `size` bytes of short puts (window_batch); if it signals, also a FLUSH */
    FRAME_SLEEP,   /* the sender may sleep until its number at `offset` changes: RING from now on */
    FRAME_RING,    /* the sender's device has changed a number: look at it */
};

enum { FRAME_INLINE = 24 /* bytes that a frame itself carries */ };

struct window_frame {
    uint8_t kind;
    uint8_t signals; /* FRAME_PUT, FRAME_PUTS: 1 or 0 */
    uint8_t unused[6];
    uint64_t offset, size;
    uint64_t number, value;
    unsigned char bytes[FRAME_INLINE];
};
_Static_assert(sizeof(struct window_frame) == 64, "drawn in doc/protocol.md");

/* True if the frame is whole and asks for nothing outside of a part of `size` bytes. A reply is
 * compared with what was asked by its receiver. */
bool window_frame_is_valid(const struct window_frame *f, size_t size);

/* True if a message with the frame's bytes follows it. */
static inline bool window_frame_is_followed(const struct window_frame *f)
{
    return (f->kind == FRAME_PUT || f->kind == FRAME_REPLY || f->kind == FRAME_PUTS) &&
           f->size > FRAME_INLINE;
}

static inline bool window_frame_is_answered(const struct window_frame *f)
{
    if (f->kind == FRAME_PUTS)
        return f->signals;
    return f->kind != FRAME_PUT && f->kind != FRAME_LEAVE && f->kind != FRAME_END &&
           f->kind != FRAME_REPLY && f->kind != FRAME_RING;
}

enum { BATCH_ROOM = 4096, BATCH_PUT_MOST = 256 /* bytes of one put */ };

/* Short puts to one rank that are sent together (FRAME_PUTS), since a message for each would take a
 * system call at both ends. */
struct window_batch {
    size_t size; /* used in `bytes` */
    unsigned char bytes[BATCH_ROOM];
};

/* False: there is no room. `size` is 1 to BATCH_PUT_MOST. */
bool window_frame_batch_add(struct window_batch *b, const void *from, size_t size, uint64_t offset);

/* Carries out the puts that came as `size` bytes in a part of `part_size` bytes. False: they make
 * no sense; some may have been carried out. */
bool window_frame_batch_apply(const unsigned char *bytes, size_t size, unsigned char *part,
                              size_t part_size);

/* The bit that stands for a number that threads sleep for, and for others: they may be woken for
 * nothing. */
static inline uint64_t window_frame_number_bit(uint64_t offset)
{
    return 1ULL << (offset / sizeof(uint64_t) % 64);
}

#endif
