/* SPDX-License-Identifier: MIT */
/* metric_jobs.h: the metrics of the jobs and ranks on a machine. */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_JOBS_H
#define LAUNCHER_TOOLS_METRICS_METRIC_JOBS_H

#include <jansson.h>

struct metric_page;

/* As metric_hosts_add(). */
void metric_jobs_add(struct metric_page *p, json_t *said);

#endif
