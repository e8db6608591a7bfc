/* SPDX-License-Identifier: MIT */
/* rdma_probe.h: whether the RDMA devices that the job's wiring names on this host can be used. */
#ifndef LAUNCHER_AGENT_RDMA_PROBE_H
#define LAUNCHER_AGENT_RDMA_PROBE_H

#include "launcher/agent/job_message.h"

/* Runs `program` (mlaunch-probe; "": there is none) with a deadline over this host's devices.
 * *devices, the caller's, is what it found: [{name, port, gids}]. ML_ERR_DEVICE in words. */
int rdma_probe_run(json_t **devices, const struct job_message *job, const char *program,
                   struct fault *why);

#endif
