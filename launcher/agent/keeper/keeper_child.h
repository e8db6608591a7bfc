/* SPDX-License-Identifier: MIT */
/* keeper_child.h: with --keep 2, the worker's child that listens for ranks of the host before this
 * one in the job's order, and serves each by a thread (keeper_serve.h). It ends with the worker. */
#ifndef LAUNCHER_AGENT_KEEPER_KEEPER_CHILD_H
#define LAUNCHER_AGENT_KEEPER_KEEPER_CHILD_H

#include "common/fault.h"
#include "common/net/address.h"
#include "launcher/wire/protocol/job_spec.h"

#include <sys/types.h>

/* Starts it, and stores its pid, and where it listens, on `ip`. ML_ERR_SYSTEM. */
int keeper_child_start(pid_t *pid, char address[ADDRESS_TEXT], const struct job_spec *job,
                       const char *dir, const char *ip, struct fault *why);
/* Ends it, so nothing is written into /dev/shm any more. Takes 0. */
void keeper_child_end(pid_t pid);

#endif
