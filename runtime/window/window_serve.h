/* SPDX-License-Identifier: MIT */
/*
 * window_serve.h: operations on parts that this process can't map. They are asked for over the
 * links of the window's group (window_frame.h), and whichever thread of the target has the turn
 * (window_turn.h) carries them out: the window's own thread, as long as the program makes no call.
 *
 * A rank has at most SERVE_CREDITS frames without a reply at each other rank, which has room for
 * that many replies, and so always continues to read. Two ranks that send each other much can't
 * block.
 *
 * Bytes of a part on a GPU pass through host memory of its owner. Longer puts and gets are made of
 * several frames there (window_ask.c), so that memory is bounded, and one piece is copied while the
 * next is on its way.
 */
#ifndef RUNTIME_WINDOW_WINDOW_SERVE_H
#define RUNTIME_WINDOW_WINDOW_SERVE_H

#include "runtime/gpu/gpu_bounce.h"
#include "runtime/group/link.h"
#include "runtime/window/window.h"
#include "runtime/window/window_frame.h"

enum {
    SERVE_CREDITS = 64,
    SERVE_PIECE = 1 << 20 /* bytes that one frame puts to a part on a GPU, or gets, at most */
};

struct waiting;

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
    struct window_frame in;
    struct message_op came;  /* `in`, or the bytes that follow it */
    bool brings_bytes;       /* `came` is the latter */
    struct gpu_bounce stage; /* where the bytes of a put come, if this rank's part is on a GPU */
    struct order_list sent;  /* frames without a reply that are on their way out */
    struct order_list asked; /* frames that a reply will come for */
    struct order_list held;  /* those that wait until one of `asked` has its reply */
    unsigned asked_count;
    struct window_reply replies[SERVE_CREDITS];
    unsigned replied, reply_count;  /* the oldest that is on its way; how many are */
    struct window_batch *late;      /* short puts that have not been sent; NULL: none */
    struct window_batch *batch;     /* where those of a frame come; NULL: none have come yet */
    uint64_t owed_to, owed;         /* signals that are not added yet: the number, and their sum */
    unsigned owed_signals;          /* how many they are */
    _Atomic uint64_t sleeps;        /* the bits of the numbers that its threads may sleep for */
    _Atomic uint64_t puts, flushed; /* puts so far; how many of them are known to be complete */
};

/* Makes all that a rank may lack: the window's thread, which serves the other ranks and learns of
 * deaths, and what it needs. The caller keeps the group, until window_serve_begin gives it to that
 * thread, once all ranks have started. A group of one needs none. ML_ERR_MEMORY, ML_ERR_SYSTEM;
 * window_serve_begin: the errors of a call. */
int window_serve_start(struct window *w, struct fault *why);
int window_serve_begin(struct window *w, struct fault *why);
/* First the thread ends: nothing is served, and no death noticed, any more; then the rest goes.
 * Both take a window that has not been started. */
void window_serve_end(struct window *w);
void window_serve_stop(struct window *w);

/* For the thread that has the turn. Sends an order, now or when there is a credit. */
void window_serve_send(struct window *w, struct window_order *o);
/* Keeps a put of at most BATCH_PUT_MOST bytes, which the next order for that rank, or the next
 * step, will send. False: it has to be sent as an order. */
bool window_serve_put_late(struct window *w, int peer, const void *from, size_t size,
                           uint64_t offset);
/* The same, if that takes nothing but a copy. Any holder of the turn's lock may also call it. */
bool window_serve_put_along(struct window *w, int peer, const void *from, size_t size,
                            uint64_t offset);
/* Moves what can be moved, and sleeps if nothing can. < 0: the window is broken. */
int window_serve_step(struct window *w, struct waiting *waiting);
/* The same, but never sleeps. 0: it is time to sleep. */
int window_serve_look(struct window *w, struct waiting *waiting);

#endif
