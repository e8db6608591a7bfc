/* SPDX-License-Identifier: MIT */
/*
 * spare_hosts.h: when a spare host takes the place of another: one that was lost (--restarts), that
 * is not fit (--check), or that the others have waited for (--evict-slow).
 */
#ifndef LAUNCHER_RUN_JOB_SPARE_HOSTS_H
#define LAUNCHER_RUN_JOB_SPARE_HOSTS_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/job/host_check.h"
#include "launcher/run/round/job_round.h"

struct events_file;
struct output;
struct rank_summary;

/* All but `newcomer` is borrowed. */
struct spare_hosts {
    struct plan *plan;
    const char *job; /* its id */
    struct output *output;
    struct events_file *events;
    int newcomer; /* the place that a spare host took last, since ranks have run; or -1 */
};

/* After a restart that could not start the ranks: replaces the hosts that it could not use. True:
 * all that failed have been replaced, so it is worth going on at once. */
bool spare_hosts_replace_lost(struct spare_hosts *s, const struct job_round *round,
                              const struct job_round_result *result);

/* While the ranks of others run (--elastic): host `index` cannot be used; `why` follows its name.
 * False: there is no spare one. */
bool spare_hosts_replace(struct spare_hosts *s, const struct job_round *round, int index,
                         const char *why);

/* Before a run: looks at all hosts, and replaces those that are not fit. `base` and `is_over` are
 * host_check_run()'s. False, with the reason said: a host is not fit, and has not been replaced;
 * without a spare one, hosts that are only slow are used, and lost ones are left to the run. */
bool spare_hosts_check(struct spare_hosts *s, host_check_finder *find, struct event_base *base,
                       bool (*is_over)(void *arg), void *arg);

/* Before a restart: replaces the host that was waited for most in the run before, if that was so
 * in most of the calls that had to wait. */
void spare_hosts_evict(struct spare_hosts *s, const struct rank_summary *summary);

#endif
