/* SPDX-License-Identifier: MIT */
/*
 * probe_wires.h: mlaunch-probe --wires, between the agents of several hosts: says what this host has,
 * reads what all have, tries who reaches whom, says it (doc/protocol.md, "Wires").
 */
#ifndef RDMA_PROBE_WIRES_H
#define RDMA_PROBE_WIRES_H

#include "rdma/probe_check.h"
#include "rdma/probe_child.h"

/* The first `named` of the children are for devices that the user named, which must be usable. */
int probe_wires(struct probe_child *children, int named, int count, const struct probe_choice *c);

#endif
