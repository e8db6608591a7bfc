/* SPDX-License-Identifier: MIT */
/*
 * probe_run.h: runs mlaunch-probe --wires on this host, for two questions of mlaunch: first which
 * RDMA devices there are, and then, when mlaunch knows the devices of all hosts, which of them they
 * reach. The program runs on between the questions.
 */
#ifndef LAUNCHER_AGENT_QUERIES_PROBE_RUN_H
#define LAUNCHER_AGENT_QUERIES_PROBE_RUN_H

#include "common/fault.h"

#include <jansson.h>
#include <sys/types.h>

struct probe_run {
    pid_t pid;   /* 0: it does not run */
    int in, out; /* pipes to its stdin and from its stdout */
};

/* Starts the program for {"named": [device], "port", "gid_index"} and adds "devices" to `answer`.
 * ML_ERR_DEVICE: there is no such program, or its devices cannot be read. Takes up to 7.5 s, as the
 * next does. */
int probe_run_devices(struct probe_run *w, const json_t *question, json_t *answer,
                      struct fault *why);
/* Passes the member "wires" to the program and adds "devices". The program still answers the
 * datagrams of other hosts until probe_run_close. */
int probe_run_try(struct probe_run *w, const json_t *question, json_t *answer, struct fault *why);
void probe_run_close(struct probe_run *w); /* takes one that does not run */

#endif
