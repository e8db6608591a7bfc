/* SPDX-License-Identifier: MIT */
/* job_config.h: what whoever runs a job may add to its plan. */
#ifndef LAUNCHER_RUN_JOB_JOB_CONFIG_H
#define LAUNCHER_RUN_JOB_JOB_CONFIG_H

#include "launcher/run/job/host_check.h"

struct output_sink;
struct rank_results;

/* Who gets what of a job; NULL: the terminal does, and nobody else is told. On the loop, but
 * on_written. */
struct job_config {
    void (*on_started)(void *arg); /* all ranks have started; again after a restart */
    void (*on_written)(void *arg); /* as struct output_events has it */
    void *arg;
    const struct output_sink *sink;     /* gets what the ranks write first */
    const struct rank_results *results; /* the hosts are independent */
    host_check_finder *check;           /* for --check; NULL: hosts are not looked at */
};

#endif
