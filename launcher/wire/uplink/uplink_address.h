/* SPDX-License-Identifier: MIT */
/* uplink_address.h: HOST:PORT of the head, as users write it, and its addresses. */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_ADDRESS_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_ADDRESS_H

#include "common/fault.h"
#include "common/net/address.h"

#include <netdb.h>

enum { UPLINK_HOST = 256 /* bytes of a host's name, terminated */ };

/* Takes apart HOST:PORT, [IPv6]:PORT, :PORT and PORT; host is "" in the last two. False: it is
 * none of them. */
bool uplink_address_split(const char *text, char host[UPLINK_HOST], int *port);

/* The addresses of a name, for freeaddrinfo(). ML_ERR_SYSTEM: it is not known (yet).
 * ML_ERR_ARGUMENT: an interface is missing in a link-local address. */
int uplink_address_find(struct addrinfo **out, const char *host, int port, struct fault *why);

/* The address by which others know this machine under that name. Waits until the name is known,
 * for limit_ms at most. ML_ERR_TIMEOUT; ML_ERR_ARGUMENT: it is another machine's. */
int uplink_address_own(char ip[ADDRESS_TEXT], const char *host, int limit_ms, struct fault *why);

#endif
