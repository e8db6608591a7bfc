/* SPDX-License-Identifier: MIT */
/*
 * window_send.h: the frames that this rank sends for a window, until their end: the orders that it
 * gives other ranks, and its replies to theirs.
 *
 * A rank has at most SERVE_CREDITS frames without a reply at each other rank, which has room for
 * that many replies, and so always continues to read. Two ranks that send each other much can't
 * block.
 *
 * The thread that has the turn (window_turn.h) calls these functions.
 */
#ifndef RUNTIME_WINDOW_WINDOW_SEND_H
#define RUNTIME_WINDOW_WINDOW_SEND_H

#include "runtime/gpu/gpu_bounce.h"
#include "runtime/group/link.h"
#include "runtime/window/window.h"
#include "runtime/window/window_frame.h"

enum {
    SERVE_CREDITS = 64,
    SERVE_PIECE = 1 << 20 /* bytes that one frame puts to a part on a GPU, or gets, at most */
};

/* An operation that this rank asks for. The caller keeps it until *done. */
struct window_order {
    struct window_frame frame;
    const void *from; /* what is put */
    void *into;       /* where the reply's bytes go */
    int peer;
    _Atomic bool is_done; /* what `done` points to, unless it is a request's */
    _Atomic bool *done;   /* then the result is in *why */
    struct fault *why;    /* code 0 at first, and in success */
    uint64_t value;       /* the reply's */
    uint64_t puts;        /* FRAME_FLUSH: this many are complete with the reply */
    uint64_t written;     /* FRAME_FLUSH: puts by devices, settled with the reply */
    bool has_reply;
    bool may_wait;              /* it may go with the next one, as long as a reply is awaited */
    struct window_batch *batch; /* what `from` points to; owned; NULL: memory of the caller */
    bool is_own;                /* nobody waits for it; freed at its end */
    struct message_op out[2];   /* the frame and its bytes */
    struct window_order *next;
};

struct order_list {
    struct window_order *first, **end;
};

/* What this rank answers. */
struct window_reply {
    struct window_frame frame;
    struct message_op out[2];
    struct gpu_bounce stage; /* the bytes that follow, if this rank's part is on a GPU */
};

/* A rank whose part is served, and that is served this rank's part. Who has the turn uses it. */
struct window_peer {
    bool is_served; /* false: its part is direct, or it is this rank */

    /* What it asks of this rank (window_serve.c): */
    struct window_frame in;
    struct message_op came;     /* `in`, or the bytes that follow it */
    bool brings_bytes;          /* `came` is the latter */
    struct gpu_bounce stage;    /* where the bytes of a put come, if this rank's part is on a GPU */
    struct window_batch *batch; /* where short puts come; NULL: none have come yet */
    uint64_t owed_to, owed;     /* signals that are not added yet: the number, and their sum */
    unsigned owed_signals;      /* how many they are */
    _Atomic uint64_t sleeps;    /* the bits of the numbers that its threads may sleep for */

    /* What this rank sends to it: */
    struct order_list sent;  /* frames without a reply that are on their way out */
    struct order_list asked; /* frames that a reply will come for */
    struct order_list held;  /* those that wait until one of `asked` has its reply */
    unsigned asked_count;
    struct window_reply replies[SERVE_CREDITS];
    unsigned replied, reply_count;  /* the oldest that is on its way; how many are */
    struct window_batch *late;      /* short puts that have not been sent; NULL: none */
    _Atomic uint64_t puts, flushed; /* puts so far; how many of them are known to be complete */
};

/* `p` is zeros. *_close frees the orders that nobody waits for, and what the replies are in. */
void window_send_open(struct window_peer *p);
void window_send_close(const struct window *w, struct window_peer *p);

/* Sends an order, now or when there is a credit. */
void window_send_order(struct window *w, struct window_order *o);
/* Keeps a put of at most BATCH_PUT_MOST bytes, which the next order for that rank, or the next
 * step, will send. False: it has to be sent as an order. */
bool window_send_put_late(struct window *w, int peer, const void *from, size_t size,
                          uint64_t offset);
/* The same, if that takes nothing but a copy. Any holder of the turn's lock may also call it. */
bool window_send_put_along(struct window *w, int peer, const void *from, size_t size,
                           uint64_t offset);

/* Sends what waits for nothing any more: short puts that were kept, and orders for which there is a
 * credit now. */
int window_send_held(struct window *w, struct window_peer *p, int peer, struct fault *why);

/* Replies to the peer's oldest frame that has no reply yet, with the next step. bytes: `size` bytes
 * that a get wants, which stay until the reply is out; they are in *stage, which the reply takes
 * over, or NULL. False: the peer has sent more frames than there is room for. */
bool window_send_reply(struct window *w, int peer, uint64_t value, const void *bytes, uint64_t size,
                       const struct gpu_bounce *stage);

/* The order that the peer's next reply is for, or NULL. */
struct window_order *window_send_asked(const struct window_peer *p);

/* Finishes what is complete, which may make room for what is held. */
void window_send_retire(struct window *w, struct window_peer *p);

/* Breaks the window: no link touches a buffer any more, and all that is under way fails. Returns
 * the code. */
int window_send_fail(struct window *w, const struct fault *why);

#endif
