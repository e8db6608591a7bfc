/* SPDX-License-Identifier: MIT */
/*
 * metric_gather.h: gathers a page from all hosts, which are asked over channels that stay open, and
 * from --command. A host that is away or silent costs the page its own metrics, and nothing else:
 * a page waits for it once, and those after it not at all until it answers again.
 */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_GATHER_H
#define LAUNCHER_TOOLS_METRICS_METRIC_GATHER_H

#include "common/fault.h"

#include <event2/event.h>

struct metric_gather;
struct query_command;

/* Begins to reach the command's hosts. `c` and the texts must outlive it. sysfs, command: the
 * options' values, or NULL. ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int metric_gather_open(struct metric_gather **out, struct event_base *base,
                       const struct query_command *c, const char *sysfs, const char *command,
                       struct fault *why);
void metric_gather_close(struct metric_gather *g); /* takes NULL; without a call of on_page */

/* How long a page waits. */
struct metric_patience {
    int hosts_ms, command_ms;
};

/* The page, which is freed after the call, and how many hosts it lacks; or NULL: out of memory. It
 * may gather the next page, or close the gatherer. */
typedef void metric_gather_on_page(const char *page, int lacking, void *arg);

/* Gathers a page, for which on_page is called once, later, from the loop. One at a time. */
void metric_gather_page(struct metric_gather *g, const struct metric_patience *patience,
                        metric_gather_on_page *on_page, void *arg);

#endif
