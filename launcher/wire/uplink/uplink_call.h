/* SPDX-License-Identifier: MIT */
/* uplink_call.h: a host calls the head, again and again until the head is there. */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_CALL_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_CALL_H

#include "common/net/auth.h"

#include <stdbool.h>

struct uplink_call {
    const char *host;          /* a name or an address */
    const char *const *others; /* tried after it; ends with NULL, or is NULL */
    int port;
    int index, hosts; /* this host's index, of how many */
    const uint8_t *key;
    int limit_ms;         /* for all tries together */
    bool ends_with_stdin; /* whoever has started this process ends the tries by closing that */
};

/* Blocks until there is a connection on which both sides have proved that they have the key. A name
 * that is not known yet, and a head that does not answer, are tried again. The caller owns *fd, and
 * wipes *keys. ML_ERR_REFUSED: the other side has another key or is another build; ML_ERR_TIMEOUT:
 * there was no head in time. */
int uplink_call(int *fd, struct auth_keys *keys, const struct uplink_call *c, struct fault *why);

#endif
