/* SPDX-License-Identifier: MIT */
/*
 * machine_hwloc.h: reads the machine by hwloc. All calls of that library are in this file; it is
 * opened only for jobs that bind ranks, so that hosts without it can run all others. With
 * --with-static-hwloc it is linked in, for an agent that can open no library.
 */
#ifndef LAUNCHER_AGENT_BINDING_MACHINE_HWLOC_H
#define LAUNCHER_AGENT_BINDING_MACHINE_HWLOC_H

#include "common/fault.h"
#include "launcher/agent/binding/machine.h"

#include <stdbool.h>

/* Stores in *out, for the caller to free(), the hardware threads that this process may use; with
 * has_devices the GPUs and their neighbours, too, found without any vendor's library. With
 * HWLOC_XMLFILE or HWLOC_SYNTHETIC in the environment it is the machine described there.
 * ML_ERR_SYSTEM: libhwloc is missing, or has failed. */
int machine_read(struct machine **out, bool has_devices, struct fault *why);

#endif
