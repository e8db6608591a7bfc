/* SPDX-License-Identifier: MIT */
/*
 * machine.h: a host's processors as binding sees them: which hardware threads a job may use, and
 * which of them belong to one core, cache, socket and memory node.
 */
#ifndef LAUNCHER_AGENT_BINDING_MACHINE_H
#define LAUNCHER_AGENT_BINDING_MACHINE_H

#include "common/job_options.h"

#include <sched.h>

/* A hardware thread, in the machine's order: neighbours are near each other. */
struct machine_cpu {
    int number;         /* Linux's */
    int in[BIND_UNITS]; /* BIND_HWTHREAD … BIND_NUMA: which one it is of; -1: of none */
    int node;           /* the memory node beside it, as Linux numbers it; -1: unknown */
};

struct machine {
    struct machine_cpu cpus[CPU_SETSIZE];
    int cpu_count; /* those that a job may use */
};

#endif
