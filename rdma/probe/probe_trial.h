/* SPDX-License-Identifier: MIT */
/*
 * probe_trial.h: mlaunch-probe --wires, between the agents of several hosts: says what this host has,
 * reads what all have, tries who reaches whom, says it (doc/protocol.md, "Wires").
 */
#ifndef RDMA_PROBE_PROBE_TRIAL_H
#define RDMA_PROBE_PROBE_TRIAL_H

#include "rdma/probe/probe_check.h"
#include "rdma/probe/probe_child.h"

/* One child a device. named: NULL-terminated, the devices and ports ("mlx5_0:2") that the user named: they must be
 * usable. */
int probe_trial(struct probe_child *children, int count, char *const *named,
                const struct probe_choice *c);

#endif
