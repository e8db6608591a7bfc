/* SPDX-License-Identifier: MIT */
/* facts_gpu_linux.h: which GPUs a machine has, what they are near to, and who may read them. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_GPU_LINUX_H
#define LAUNCHER_AGENT_FACTS_FACTS_GPU_LINUX_H

#include <jansson.h>

/* Adds the members "gpus" and "gpu_…" (doc/mlaunch-json.5) of the machine below `root`, if it has
 * any. */
void facts_gpu_add(json_t *out, const char *root);

#endif
