/* SPDX-License-Identifier: MIT */
/*
 * bench_gpu.h: memory of an NVIDIA GPU, by the driver alone, which is loaded when it is first
 * needed: by then the library finds it. A host's ranks take its GPUs in turns.
 */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_GPU_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_BENCH_GPU_H

#include "common/fault.h"

#include <stddef.h>

/* Unwritten. ML_ERR_DEVICE, also if there is no driver or no GPU. *out is set on success only. */
int bench_gpu_alloc(unsigned char **out, size_t size, struct fault *why);
void bench_gpu_free(unsigned char *memory); /* takes NULL */

/* Between a GPU and host memory, either way; it is done when this returns. ML_ERR_DEVICE. */
int bench_gpu_copy(unsigned char *to, const unsigned char *from, size_t size, struct fault *why);

#endif
