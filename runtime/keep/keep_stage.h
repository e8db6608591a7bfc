/* SPDX-License-Identifier: MIT */
/* keep_stage.h: ml_keep and ml_restore of memory that may be a GPU's: it is copied through host
 * memory. */
#ifndef RUNTIME_KEEP_KEEP_STAGE_H
#define RUNTIME_KEEP_KEEP_STAGE_H

#include "runtime/gpu/cuda_driver.h"
#include "runtime/keep/keep.h"

/* What a call says of its memory, beside where that is. */
struct keep_memory {
    size_t size;
    int type;     /* 1 + ml_type, or 0 for bytes */
    void *stream; /* where the program works on GPU memory (ml_next_stream); NULL: anywhere */
};

/* As keep_put and keep_get. `driver` is NULL if the program uses no GPU. Also ML_ERR_DEVICE,
 * ML_ERR_MEMORY. */
int keep_stage_put(const struct cuda_driver *driver, struct world *w, const char *name,
                   const void *at, const struct keep_memory *m, uint64_t version,
                   struct fault *why);
int keep_stage_get(const struct cuda_driver *driver, const struct world *w, const char *name,
                   int id, void *at, const struct keep_memory *m, struct fault *why);

#endif
