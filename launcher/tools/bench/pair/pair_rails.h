/* SPDX-License-Identifier: MIT */
/* pair_rails.h: how many rails the job's RDMA wiring has between hosts. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_RAILS_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_RAILS_H

#include <jansson.h>
#include <stddef.h>

/* The wiring, [host][host], that this job's ranks have; the caller's reference. NULL: the job has
 * none. */
json_t *pair_rails_wiring(void);

/* The RDMA port, "device" or "device:port", at `from` of a rail to `to`, from 0; "": not known. */
const char *pair_rails_port(const json_t *wiring, int from, int to, int rail);

/* How many rails lead from one host to the other one; 0: none, or it is not known. */
int pair_rails_count(const json_t *wiring, int from, int to);

#endif
