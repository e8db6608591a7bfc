/* SPDX-License-Identifier: MIT */
/* port_name.h: a port of an RDMA device as users write it: "mlx5_0:2", or "mlx5_0" for any port. */
#ifndef COMMON_TEXT_PORT_NAME_H
#define COMMON_TEXT_PORT_NAME_H

#include <stdbool.h>

enum { PORT_NAME_DEVICE = 64, PORT_NAME_TEXT = PORT_NAME_DEVICE + 4, PORT_NAME_MOST = 255 };

/* Splits a port's name. *port 0: the name has no port. False: the part after the last colon is not
 * a port, or the device's name is empty or too long; then nothing is changed. */
bool port_name_split(const char *text, char device[PORT_NAME_DEVICE], int *port);

/* Writes the name into `text` and returns it. port 0: the device alone. */
const char *port_name_format(char text[PORT_NAME_TEXT], const char *device, int port);

#endif
