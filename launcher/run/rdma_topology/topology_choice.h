/* SPDX-License-Identifier: MIT */
/* topology_choice.h: what has been chosen for a link, and why, in words. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_CHOICE_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_CHOICE_H

#include "launcher/run/rdma_topology/topology_end.h"

enum { TOPOLOGY_CHOICE_TEXT = 640 };

/* "host a: rxe_p1 port 1 (GID 1, …) to …; port: …; GID: …". No end is left open. Returns `text`. */
const char *topology_choice_describe(const struct topology_facts *f, struct topology_end a,
                                     struct topology_end b, char text[TOPOLOGY_CHOICE_TEXT]);
/* A warning about a link that works, but is hardly meant. False: there is none. */
bool topology_choice_warn(const struct topology_facts *f, struct topology_end a,
                          struct topology_end b, char text[TOPOLOGY_CHOICE_TEXT]);

#endif
