/* SPDX-License-Identifier: MIT */
/* remote_resolve.h: a host's addresses. */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_RESOLVE_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_RESOLVE_H

#include "launcher/wire/ssh/reach/remote_wait.h"

#include <netdb.h>

/* The TCP addresses of `name` for `family` (AF_UNSPEC: all); freed with freeaddrinfo. getaddrinfo
 * has no deadline, so it is called by a thread of its own, which is left behind if it takes too
 * long. ML_ERR_TIMEOUT, ML_ERR_STATE as remote_wait.h; ML_ERR_ARGUMENT: there is no such name. */
int remote_resolve(struct addrinfo **out, const char *name, int port, int family,
                   const struct remote_wait *w, struct fault *why);

#endif
