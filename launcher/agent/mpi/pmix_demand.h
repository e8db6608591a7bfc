/* SPDX-License-Identifier: MIT */
/* pmix_demand.h: PMIx for ranks that are served by PMI-1, because one of their processes needs it:
 * which ranks wait for the server, what other hosts' servers have sent before it was there, and why
 * there is none. */
#ifndef LAUNCHER_AGENT_MPI_PMIX_DEMAND_H
#define LAUNCHER_AGENT_MPI_PMIX_DEMAND_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct pmix_demand;
struct pmix_helper;

/* For this many ranks. ML_ERR_MEMORY. */
int pmix_demand_create(struct pmix_demand **out, int ranks, struct fault *why);
void pmix_demand_destroy(struct pmix_demand *d); /* takes NULL */

/* True the first time: the server is to be started. */
bool pmix_demand_begin(struct pmix_demand *d);

/* The rank `index` of this host waits. `is_certain`: its process is a program of Open MPI; else one
 * that may do without. */
void pmix_demand_add(struct pmix_demand *d, int index, bool is_certain);
/* One that waits, and does no more; -1: none. */
int pmix_demand_next(struct pmix_demand *d, bool *is_certain);

/* Keeps bytes from another host's server, unless there will be none here. ML_ERR_MEMORY,
 * ML_ERR_REFUSED: they are too many. */
int pmix_demand_keep(struct pmix_demand *d, int host, const void *bytes, size_t size,
                     struct fault *why);
/* The server is there: gives it what was kept. */
void pmix_demand_set_ready(struct pmix_demand *d, struct pmix_helper *h);
bool pmix_demand_is_ready(const struct pmix_demand *d);

/* There will be no server: every rank that asks hears why. */
void pmix_demand_set_failure(struct pmix_demand *d, const char *text);
const char *pmix_demand_failure(const struct pmix_demand *d); /* NULL: it has not failed */

#endif
