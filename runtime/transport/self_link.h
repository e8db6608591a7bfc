/* SPDX-License-Identifier: MIT */
/* self_link.h: a rank's link to itself. What it sends before it receives is kept, however large it
 * is. */
#ifndef RUNTIME_TRANSPORT_SELF_LINK_H
#define RUNTIME_TRANSPORT_SELF_LINK_H

#include "runtime/group/link.h"

/* ML_ERR_MEMORY. */
int self_link_open(struct link **out, struct group *g, struct fault *why);

#endif
