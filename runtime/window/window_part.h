/* SPDX-License-Identifier: MIT */
/* window_part.h: the memory of one rank in a window, and how the others reach it. */
#ifndef RUNTIME_WINDOW_WINDOW_PART_H
#define RUNTIME_WINDOW_WINDOW_PART_H

#include "common/fault.h"
#include "runtime/gpu/gpu_ipc.h"
#include "runtime/process/alloc.h"
#include "runtime/process/processor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct group;
struct gpu_part;

/* What a rank's part has besides its memory, in memory that the other ranks of its host map too. */
struct window_control {
    _Alignas(PROCESSOR_LINE) _Atomic uint32_t sleepers; /* threads that wait for a signal */
    _Atomic uint32_t rings;                             /* a futex: changes to wake them */
    _Alignas(PROCESSOR_LINE) _Atomic uint32_t left;     /* ranks that have called ml_window_free */
    _Atomic uint32_t ended;                             /* served ranks that send nothing more */
    _Atomic uint8_t stages[];                           /* enum window_stage, by rank */
};

/* How far a rank is in ml_window_free; only served ranks come to the last one. */
enum window_stage { WINDOW_STAYS, WINDOW_LEFT, WINDOW_ENDED };

struct window_part {
    size_t size;
    unsigned char *memory;          /* where this process has it; NULL: it is served, or empty.
                                     * The own one may be a GPU's */
    struct window_control *control; /* the same; NULL: it is served */
    struct alloc_place memory_place, control_place; /* another rank's direct part */
    bool is_on_gpu;
    _Atomic bool is_open;       /* another rank's, which this process may open by CUDA IPC */
    struct gpu_ipc_place place; /* then: where it is, and the owner's number */
    uint64_t giver;
    /* Another rank's part on a GPU to which devices write: its owner has to settle what they have
     * written (gpu_part.h) before work on the GPU sees it. window_device.c counts the puts, those
     * that the devices have carried out, and those that are settled, too. */
    bool must_settle;
    _Atomic uint64_t begun, written, settled;
};

/* Tells the other ranks of g where this rank's part is (`memory`, `size`; gpu: NULL, or the same on
 * a GPU; control: that of a window_control_create), learns where theirs are, and maps those that it
 * can. A pair of ranks of which one has its part on a GPU maps nothing. Collective. *out: one for
 * each rank, to be freed by window_parts_free. If a rank gives a code < 0, it has no part, and the
 * call fails on all. */
int window_parts_find(struct window_part **out, struct group *g, int code, void *memory,
                      size_t size, const struct gpu_part *gpu, struct window_control *control,
                      struct fault *why);

/* Unmaps what was mapped; takes NULL. The own part belongs to the caller. */
void window_parts_free(struct window_part *parts, const struct group *g);

/* For a window of `ranks`; to be given back by alloc_give. ML_ERR_MEMORY. */
int window_control_create(struct window_control **out, int ranks, struct fault *why);

#endif
