/* SPDX-License-Identifier: MIT */
/*
 * probe_run.h: mlaunch-probe --wires on this host, between two questions of the launcher: which
 * devices there are, and, when the launcher knows those of all hosts, whom they reach.
 */
#ifndef LAUNCHER_AGENT_ANSWER_PROBE_RUN_H
#define LAUNCHER_AGENT_ANSWER_PROBE_RUN_H

#include "common/fault.h"

#include <jansson.h>
#include <sys/types.h>

struct probe_run {
    pid_t pid; /* 0: it does not run */
    int in, out;
};

/* {"named": [device], "port", "gid_index"}: starts it; adds "devices" to `answer`. */
int probe_run_devices(struct probe_run *w, const json_t *question, json_t *answer,
                      struct fault *why);
/* {"wires": what the program reads}: adds "devices". It goes on helping the other hosts until
 * probe_run_close. */
int probe_run_try(struct probe_run *w, const json_t *question, json_t *answer, struct fault *why);
void probe_run_close(struct probe_run *w);

#endif
