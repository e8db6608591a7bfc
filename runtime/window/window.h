/* SPDX-License-Identifier: MIT */
/*
 * window.h: memory of each rank of a group that the others read and write by themselves (ml_window
 * in mlaunch.h). A window has a group of its own, of the same ranks, so its traffic never mixes
 * with the program's calls.
 *
 * A part that this process can map is direct: operations are copies and atomic instructions in it.
 * The other parts are served: window_serve.c sends requests over the group's links, and a thread of
 * the target carries them out. What a pair of ranks uses, it uses in both directions.
 *
 * A part on a GPU is served, too, by copies (gpu_part.h), and its owner itself uses it by copies.
 * Puts and gets between ranks of one host may do without the owner (window_stage.h).
 */
#ifndef RUNTIME_WINDOW_WINDOW_H
#define RUNTIME_WINDOW_WINDOW_H

#include "common/fault.h"
#include "runtime/group/group.h"
#include "runtime/window/window_part.h"
#include "runtime/window/window_turn.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rma;
struct rma_table;
struct window_peer;
struct gpu_part;
struct cuda_driver;

struct window {
    struct group *group;       /* its own; NULL: the window is gone, and so is all of the below */
    struct window_part *parts; /* per rank of the group */
    struct window_peer *peers; /* per rank, for those whose part is served (window_send.h) */
    unsigned served_count;     /* how many they are */
    void *owned;               /* this rank's part, if the library has allocated it */
    struct gpu_part *gpu;      /* this rank's part, if it is on a GPU */
    const void *pinned;        /* this rank's part, which ml_free refuses; NULL: it has none */
    const struct rma_table *rma_table; /* window_device.c's */
    struct rma *rma;                   /* the devices; NULL: none */
    bool *has_device;                  /* per rank: devices put and get; NULL: no rank's do */
    bool has_device_numbers;           /* devices carry out all atomic operations and signals */
    _Atomic uint64_t told;             /* then: the numbers that the others have been told of */
    struct window_turn turn;           /* which thread has the group */
    unsigned events;                   /* frames that came, and orders that were done */
    pthread_t thread;                  /* window_serve.c's */
    bool has_thread;
    _Atomic bool is_told; /* window_wait.c's: a thread that waits is told of */
    _Atomic int broken;   /* the code of `why`, or 0 */
    struct fault why;     /* what every call returns once it is broken; then never changed */
    bool is_retired;      /* it ended with its membership: calls return `why` for ever */
    struct window *next;  /* window.c: of those that live, or that are gone */
};

/* An empty struct, or NULL: out of memory. window_add makes it one of those that live, and
 * window_destroy empties it, whether it lives or not. The struct stays readable for good; a later
 * window may get it. */
struct window *window_create(void);
void window_add(struct window *w);
void window_destroy(struct window *w);

/* A window that lives, or NULL. */
struct window *window_any(void);

/* Makes every call fail with `why` from now on, unless the window is broken already. Any thread. */
void window_break(struct window *w, const struct fault *why);

/* w is not NULL (ML_ERR_ARGUMENT), it has not been freed, and this process may use it
 * (ML_ERR_STATE); unless it is broken. */
int window_check(struct window *w, struct fault *why);

/* False: w is NULL or gone, or another process's. A window that is only broken can still be looked
 * at, and freed. */
bool window_is_usable(const struct window *w);

/* ML_ERR_ARGUMENT unless a part can be there. *gpu: NULL, or the part on a GPU of `driver` (NULL:
 * the process has none), to be closed by the caller unless a window gets it; stream: as
 * gpu_part_open has it. ML_ERR_DEVICE, ML_ERR_MEMORY. */
int window_check_memory(const struct cuda_driver *driver, void *stream, void *memory, size_t size,
                        struct gpu_part **gpu, struct fault *why);

#endif
