/* SPDX-License-Identifier: MIT */
/* wiring_choice.h: what has been chosen for a link, and why, in words. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_CHOICE_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_CHOICE_H

#include "launcher/run/rdma_topology/wiring_end.h"

enum { WIRING_CHOICE_TEXT = 640 };

/* "host a: rxe_p1 port 1 (GID 1, …) to …; port: …; GID: …". No end is left open. Returns `text`. */
const char *wiring_choice_describe(const struct wiring_facts *f, struct wiring_end a,
                                   struct wiring_end b, char text[WIRING_CHOICE_TEXT]);
/* A warning about a link that works, but is hardly meant. False: there is none. */
bool wiring_choice_warn(const struct wiring_facts *f, struct wiring_end a, struct wiring_end b,
                        char text[WIRING_CHOICE_TEXT]);

#endif
