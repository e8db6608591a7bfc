/* SPDX-License-Identifier: MIT */
/* port_name.h: a port of an RDMA device as users write it: "mlx5_0:2", or "mlx5_0" where it is left open. */
#ifndef COMMON_PORT_NAME_H
#define COMMON_PORT_NAME_H

#include <stdbool.h>

enum { PORT_NAME_DEVICE = 64, PORT_NAME_TEXT = PORT_NAME_DEVICE + 4, PORT_NAME_MOST = 255 };

/* *port 0: none is named. False: what stands behind the last colon is not a port, or the device's name is empty or too
 * long; then nothing is changed. */
bool port_name_split(const char *text, char device[PORT_NAME_DEVICE], int *port);

/* port 0: the device alone. */
const char *port_name_format(char text[PORT_NAME_TEXT], const char *device, int port);

#endif
