/* SPDX-License-Identifier: MIT */
/*
 * stranger_limits.h: what whoever has not proved the secret may cost at each of our listeners
 * (doc/security.md). The connections that wait there for a proof are kept as strangers.h says.
 */
#ifndef COMMON_NET_STRANGER_LIMITS_H
#define COMMON_NET_STRANGER_LIMITS_H

#include "common/failure_times.h"

enum stranger_limit {
    /* --- of one connection, at every listener --- */

    STRANGER_MS = HANDSHAKE_MS, /* until its proof */
    STRANGER_FRAME = 2048,      /* bytes of payload; those of a handshake have at most 1024 */
    STRANGER_BYTES = 64 << 10,  /* in all, and with what it still sends when it is refused */

    /* --- of all connections at one listener --- */

    /* Accepted in one turn, so that those that are there have the time to speak before a flood
     * pushes them out. */
    STRANGERS_AT_ONCE = 16,
    STRANGERS_COORDINATOR = 1024, /* and two for each rank */
    STRANGERS_UPLINK = 256,       /* and two for each host that joins */
    STRANGERS_RANK = 64,          /* and one for each rank; descriptors of the user's program */
    STRANGERS_KEEPER = 64,        /* and one for each rank; a thread each */
    STRANGERS_SYNC = 64,
};

_Static_assert(STRANGER_MS <= FAILURE_MS(10000), "as doc/security.md promises");
_Static_assert(2 * STRANGER_FRAME < STRANGER_BYTES, "a handshake has its two frames");

#endif
