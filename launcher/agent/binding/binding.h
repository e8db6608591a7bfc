/* SPDX-License-Identifier: MIT */
/*
 * binding.h: which rank gets which of a host's processors: arithmetic alone, for any machine. What
 * the options mean is in mlaunch(1).
 */
#ifndef LAUNCHER_AGENT_BINDING_BINDING_H
#define LAUNCHER_AGENT_BINDING_BINDING_H

#include "common/fault.h"
#include "launcher/agent/binding/machine.h"
#include "launcher/agent/binding/memory_policy_linux.h"

#include <stdbool.h>
#include <stddef.h>

/* A rank's share. */
struct binding {
    bool is_bound;
    cpu_set_t cpus;
    int gpus[GPUS_MOST], gpu_count; /* indices of the machine's GPUs that are its own */
    struct memory_policy memory;
    int threads; /* as many as it has cores, shared ones counted in part; at least one */
};

/* Fills out[0 … count-1], one for each local rank. *shares: cores or hardware threads that are to
 * be a rank's own are those of several ranks.
 * ML_ERR_SYSTEM: the machine has none, or not enough, of what is asked for. */
int binding_choose(struct binding *out, int count, const struct machine *m,
                   const struct binding_options *asked, bool *shares, struct fault *why);

enum { BINDING_PORTS_TEXT = 512 };

/* Writes the names of the RDMA devices near these GPUs, with `between` between them: "mlx5_2"; ""
 * if none is nearer than another, or there are none. */
void binding_ports_near(char *out, size_t size, const struct machine *m, const int *gpus, int count,
                        const char *between);

/* Writes ", GPU 2 (0000:9c:00.0, near port mlx5_2)", or "" for a rank without GPUs. */
void binding_describe_gpus(char *out, size_t size, const struct binding *b,
                           const struct machine *m);

#endif
