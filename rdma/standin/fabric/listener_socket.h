/* SPDX-License-Identifier: MIT */
/* listener_socket.h: Unix sockets that the fabric listens at. */
#ifndef RDMA_STANDIN_FABRIC_LISTENER_SOCKET_H
#define RDMA_STANDIN_FABRIC_LISTENER_SOCKET_H

#include "common/fault.h"

#include <sys/types.h>

/* Makes the socket `folder`/`name` of a type (SOCK_…) and a mode, and listens. Paths may be longer
 * than a socket's address. Returns the descriptor, or ML_ERR_SYSTEM. */
int listener_socket_open(const char *folder, const char *name, int type, mode_t mode,
                         struct fault *why);

#endif
