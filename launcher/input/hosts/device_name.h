/* SPDX-License-Identifier: MIT */
/* device_name.h: checks the names that users give to RDMA devices: "mlx5_0", or "mlx5_0:2" for one
 * of its ports. */
#ifndef LAUNCHER_INPUT_HOSTS_DEVICE_NAME_H
#define LAUNCHER_INPUT_HOSTS_DEVICE_NAME_H

#include "common/fault.h"

#include <stddef.h>

/* ML_ERR_ARGUMENT: `name` is not a device's name with an optional port. */
int device_name_check(const char *name, struct fault *why);

/* Checks the rails to one host, whose names have passed device_name_check(). ML_ERR_ARGUMENT: there
 * are too many, a port is named twice, or a device is named with and without a port. */
int device_name_check_rails(char *const *names, size_t count, struct fault *why);

#endif
