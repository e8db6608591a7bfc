/* SPDX-License-Identifier: MIT */
/*
 * keeper_order.h: where the ranks of each host have copies of what they keep (--keep 2): on the
 * next host that lives, in the job's order, whose agent's keeper takes them. If that one is lost or
 * another comes in between, it is another host from then on, and the copies that were made before
 * stay where they are until the ranks have kept something again. So those are named, too.
 */
#ifndef LAUNCHER_RUN_ELASTIC_KEEPER_ORDER_H
#define LAUNCHER_RUN_ELASTIC_KEEPER_ORDER_H

#include "common/fault.h"

#include <stdbool.h>

enum { KEEPER_ADDRESS = 64, KEEPERS_MOST = 4, KEEPERS_TEXT = KEEPERS_MOST * KEEPER_ADDRESS };

struct keeper_order;

/* Host `host`'s keeper takes copies at `address` from now on, or takes none any more (""). *order:
 * NULL, or what this has made. ML_ERR_MEMORY. */
int keeper_order_set(struct keeper_order **order, int host, const char *address, struct fault *why);
/* The addresses for the ranks of the host, whether it lives or not: first where they have copies
 * made, then where those made before may be, blanks between; "" if there is no other host. True if
 * they differ from what was found before. */
bool keeper_order_find(struct keeper_order *order, int host, char text[KEEPERS_TEXT]);
void keeper_order_destroy(struct keeper_order *order); /* takes NULL */

#endif
