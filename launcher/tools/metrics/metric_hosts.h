/* SPDX-License-Identifier: MIT */
/* metric_hosts.h: the metrics of a machine and of its RDMA devices. */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_HOSTS_H
#define LAUNCHER_TOOLS_METRICS_METRIC_HOSTS_H

#include <jansson.h>

struct metric_page;

/* `said`: an agent's answer to "metrics"; NULL: it has none. What is missing in it or has another
 * type is left out. */
void metric_hosts_add(struct metric_page *p, json_t *said);

#endif
