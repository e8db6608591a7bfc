/* SPDX-License-Identifier: MIT */
/*
 * probe_trial.h: mlaunch-probe --wires, run by the agents of several hosts at once. It prints which
 * devices this host has, reads those of all hosts, tries which of them can be reached, and prints
 * that (doc/protocol.md, "Wires").
 */
#ifndef RDMA_PROBE_PROBE_TRIAL_H
#define RDMA_PROBE_PROBE_TRIAL_H

#include "rdma/probe/probe_check.h"
#include "rdma/probe/probe_child.h"

/* One child for each device. named: NULL-terminated, the devices and ports ("mlx5_0:2") that the
 * user has named and that must therefore be usable. Returns the program's status. */
int probe_trial(struct probe_child *children, int count, char *const *named,
                const struct probe_choice *c);

#endif
