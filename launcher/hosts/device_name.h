/* SPDX-License-Identifier: MIT */
/* device_name.h: RDMA devices as users name them: "mlx5_0", or one port of it, "mlx5_0:2". */
#ifndef LAUNCHER_HOSTS_DEVICE_NAME_H
#define LAUNCHER_HOSTS_DEVICE_NAME_H

#include "common/fault.h"

#include <stddef.h>

enum { DEVICE_RAILS = 8 /* to one host */ };

int device_name_check(const char *name, struct fault *why);

/* Whether the list may be the rails to one host: no port twice, nor a device with and without a port, nor too many. */
int device_name_check_rails(char *const *names, size_t count, struct fault *why);

#endif
