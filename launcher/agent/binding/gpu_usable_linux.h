/* SPDX-License-Identifier: MIT */
/* gpu_usable_linux.h: whether programs can use a GPU: it has a driver, and its file in /dev may be
 * opened, which control groups and containers can forbid. */
#ifndef LAUNCHER_AGENT_BINDING_GPU_USABLE_LINUX_H
#define LAUNCHER_AGENT_BINDING_GPU_USABLE_LINUX_H

#include "launcher/agent/binding/machine.h"

#include <stdbool.h>

/* root: "" for this machine, or the folder of a recorded one. */
bool gpu_usable(const char *root, const struct machine_gpu *gpu);

/* False: the variable by which a batch system assigns GPUs, such as CUDA_VISIBLE_DEVICES, lists
 * numbers in this process's environment, and the GPU's is not among them. */
bool gpu_usable_is_listed(const struct machine_gpu *gpu);

#endif
