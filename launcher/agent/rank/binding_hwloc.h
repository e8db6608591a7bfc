/* SPDX-License-Identifier: MIT */
/*
 * binding_hwloc.h: the CPUs of each rank for --bind-to. libhwloc is opened here, and only for jobs
 * with this option, so that hosts without it can run all others.
 */
#ifndef LAUNCHER_AGENT_RANK_BINDING_HWLOC_H
#define LAUNCHER_AGENT_RANK_BINDING_HWLOC_H

#include "common/fault.h"
#include "launcher/wire/protocol/job_spec.h"

#include <sched.h>

/* Fills sets[0 … count-1], one for each local rank, with CPUs that this process may use. With
 * BIND_CORE and BIND_HWTHREAD, ranks get one core or hardware thread after the other,
 * beginning again with the first if there are more ranks (*shared is set then); with the others,
 * equal blocks of ranks share the caches, sockets or NUMA nodes.
 * ML_ERR_SYSTEM: libhwloc, or what to bind to, is missing. */
int binding_find(cpu_set_t *sets, int count, enum bind_mode bind, bool *shared, struct fault *why);

#endif
