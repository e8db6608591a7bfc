/* SPDX-License-Identifier: MIT */
/*
 * binding_hwloc.h: which CPUs a rank may use with --bind-to. libhwloc is opened here, and only when
 * binding is asked for, so that hosts without it run all other jobs.
 */
#ifndef LAUNCHER_AGENT_RANK_BINDING_HWLOC_H
#define LAUNCHER_AGENT_RANK_BINDING_HWLOC_H

#include "common/fault.h"
#include "launcher/protocol/job_message.h"

#include <sched.h>

/* Fills sets[0 … count-1], one for each local rank: with JOB_BIND_CORE core after core, from the
 * first again when there are more ranks (*shared is set then); with JOB_BIND_NUMA even blocks of
 * ranks to the NUMA nodes. Only CPUs that this process may use. ML_ERR_SYSTEM says what is
 * missing. */
int binding_find(cpu_set_t *sets, int count, enum job_bind bind, bool *shared, struct fault *why);

#endif
