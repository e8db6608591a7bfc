/* SPDX-License-Identifier: MIT */
/* rail_fit.h: what the two ends of a rail agree on before they are connected, and what is said where they can't. */
#ifndef RDMA_RAIL_FIT_H
#define RDMA_RAIL_FIT_H

#include "rdma/rail.h"

/* Sets r->mtu: `bytes` as the user says, which the port must be able to take; 0: what the port has. */
int rail_fit_mtu(struct rail *r, int bytes, struct fault *why);

/* Whether `other` may be the other end; then r->gid and r->peer_gid are set, where the link has addresses: the same choice on
 * both ends. is_low: this is the lower rank. */
int rail_fit(struct rail *r, const struct rail_end *other, bool is_low, struct fault *why);

#endif
