/* SPDX-License-Identifier: MIT */
/* metric_scrape.h: one collection of all metrics, by a process of its own, so that the server
 * continues meanwhile and a host or command that hangs does not stop it. */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_SCRAPE_H
#define LAUNCHER_TOOLS_METRICS_METRIC_SCRAPE_H

#include "common/fault.h"

#include <event2/event.h>
#include <stddef.h>

enum { METRIC_SCRAPE_S = 30, METRIC_SCRAPE_MOST = 64 << 20 /* bytes */ };

struct metric_scrape;

/* The page, or NULL and the reason in `why`. The scrape is over then, and the page freed after the
 * call. */
typedef void metric_scrape_on_end(const char *page, size_t size, const struct fault *why,
                                  void *arg);

/* Starts argv[0], which prints the page. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int metric_scrape_start(struct metric_scrape **out, struct event_base *base, char *const argv[],
                        metric_scrape_on_end *on_end, void *arg, struct fault *why);

/* Ends it without a call of on_end; takes NULL. */
void metric_scrape_cancel(struct metric_scrape *s);

#endif
