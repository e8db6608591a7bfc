/* SPDX-License-Identifier: MIT */
/* self_link.h: a rank's link to itself. A send without a receiver yet is kept, however large. */
#ifndef RUNTIME_TRANSPORT_SELF_LINK_H
#define RUNTIME_TRANSPORT_SELF_LINK_H

#include "runtime/group/link.h"

int self_link_open(struct link **out, struct group *g, struct fault *why);

#endif
