/* SPDX-License-Identifier: MIT */
/*
 * window_device.h: parts of a window that this host's RDMA devices read and write by themselves
 * (rdma/rma/rma.h). Whether a pair of ranks uses its devices is decided when the window is
 * made, for both of them alike; if it does not, its puts and gets are requests (window_ask.h).
 *
 * Numbers are changed either all by devices, or all by processors (has_device_numbers). They are
 * the devices' if on each rank one and the same device reaches all others, by one rail: two devices
 * of a host, or a device and a processor, need not be atomic towards each other (window_number.h).
 */
#ifndef RUNTIME_WINDOW_WINDOW_DEVICE_H
#define RUNTIME_WINDOW_WINDOW_DEVICE_H

#include "runtime/window/window.h"

struct request;
struct rma_change;

/* Connects this rank's devices to those of the others, if the job uses RDMA; `memory` is this
 * rank's part. Collective, after window_parts_find. A device that refuses is no error, but the
 * errors of a call are. */
int window_device_open(struct window *w, void *memory, struct fault *why);
/* Once no other rank puts or gets any more, between window_serve_end and window_serve_stop: fails
 * what was started and is not done. Takes a window that has no devices. */
void window_device_close(struct window *w);

/* True if puts to that rank and gets from it go this way. */
static inline bool window_device_has(const struct window *w, int rank)
{
    return w->has_device && w->has_device[rank];
}

/* The arguments have been checked. A put is in the target's memory after window_device_flush; to:
 * or ML_ALL. Any thread. */
int window_device_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                      struct fault *why);
int window_device_get(struct window *w, void *into, size_t size, int from, size_t offset,
                      struct fault *why);
/* True if the devices alone would put from these bytes to that rank, and get to them, so that they
 * may be a GPU's: registered by a dma-buf or by nvidia-peermem. False: `why` has the reason, but no
 * code if they are few. */
bool window_device_reaches(const struct window *w, int rank, const void *at, size_t size,
                           bool *by_dmabuf, struct fault *why);
/* *out stays NULL if it is done at once. */
int window_device_start_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                            struct request **out, struct fault *why);
int window_device_start_get(struct window *w, void *into, size_t size, int from, size_t offset,
                            struct request **out, struct fault *why);
/* Afterwards window_device_written is how many puts to a part that must be settled are written
 * there; whoever has had it settled after that says so. */
int window_device_flush(struct window *w, int to, struct fault *why);
static inline uint64_t window_device_written(const struct window *w, int rank)
{
    return atomic_load(&w->parts[rank].written);
}
static inline bool window_device_is_settled(const struct window *w, int rank)
{
    return atomic_load(&w->parts[rank].settled) >= window_device_written(w, rank);
}
void window_device_note_settled(struct window *w, int rank, uint64_t written);

/* For windows with has_device_numbers. at: any rank. They wake nobody. Any thread. */
int window_device_change(struct window *w, int at, const struct rma_change *change, size_t offset,
                         uint64_t *old, struct fault *why);
/* Adds to a number of this rank, for the window's thread: does not break the window in error. */
int window_device_add_own(struct window *w, size_t offset, uint64_t add, struct fault *why);

/* Prepares a put with a signal, which is a request: everything that was put before is in the
 * target's memory when it returns, and so are these *size bytes if they are many, *size is 0
 * then. */
int window_device_settle(struct window *w, const void *from, size_t *size, int to, size_t offset,
                         struct fault *why);

#endif
