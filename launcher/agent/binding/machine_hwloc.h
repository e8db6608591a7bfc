/* SPDX-License-Identifier: MIT */
/*
 * machine_hwloc.h: reads the machine by hwloc. All calls of that library are in this file; it is
 * opened only for jobs that bind ranks, so that hosts without it can run all others.
 */
#ifndef LAUNCHER_AGENT_BINDING_MACHINE_HWLOC_H
#define LAUNCHER_AGENT_BINDING_MACHINE_HWLOC_H

#include "common/fault.h"
#include "launcher/agent/binding/machine.h"

/* Stores in *out, for the caller to free(), the hardware threads that this process may use. With
 * HWLOC_XMLFILE or HWLOC_SYNTHETIC in the environment it is the machine described there.
 * ML_ERR_SYSTEM: libhwloc is missing, or has failed. */
int machine_read(struct machine **out, struct fault *why);

#endif
