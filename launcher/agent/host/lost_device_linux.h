/* SPDX-License-Identifier: MIT */
/* lost_device_linux.h: whether this host has lost an RDMA port since its ranks were started. */
#ifndef LAUNCHER_AGENT_HOST_LOST_DEVICE_LINUX_H
#define LAUNCHER_AGENT_HOST_LOST_DEVICE_LINUX_H

#include <stdbool.h>
#include <stddef.h>

struct lost_device;

/* Notes which ports are active now; `sysfs` is "/sys" (in tests another), and is kept by reference.
 * NULL: there are none, or out of memory. */
struct lost_device *lost_device_begin(const char *sysfs);
void lost_device_end(struct lost_device *d); /* takes NULL */

/* Writes "port 1 of the RDMA device mlx5_0, …" about the first port that is gone, or active no
 * longer. False: all are as they were. `d` may be NULL. */
bool lost_device_find(char *out, size_t size, const struct lost_device *d);

#endif
