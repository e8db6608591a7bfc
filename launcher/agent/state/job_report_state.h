/* SPDX-License-Identifier: MIT */
/* job_report_state.h: what the agent will say of a run (job_report.h). */
#ifndef LAUNCHER_AGENT_STATE_JOB_REPORT_STATE_H
#define LAUNCHER_AGENT_STATE_JOB_REPORT_STATE_H

#include "launcher/agent/binding/crowding_linux.h"
#include "launcher/agent/host/rank_record.h"
#include "launcher/agent/rank/failure_cause_linux.h"

#include <jansson.h>

struct lost_device;

struct job_report {
    json_t *warnings; /* what READY will carry: an array of texts */
    bool is_noted;    /* the next two begin with the first rank that starts */
    struct failure_cause failure_cause;
    struct lost_device *lost_device; /* NULL: the host has no RDMA */
    struct crowding crowding;        /* by all ranks' threads */
    int recorded;                    /* ranks whose calls have been sent (job_report_calls) */
    struct rank_record record;       /* the next one, while it is open */
};

#endif
