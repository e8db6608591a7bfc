/* SPDX-License-Identifier: MIT */
#include "launcher/agent/agent_run.h"

#include "launcher/agent/children/copier_child.h"
#include "launcher/agent/children/stack_child.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/agent_ranks.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_keeper.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_mpi.h"

void agent_run_open(struct agent *a)
{
    a->run = (struct agent_run){.place.cgroup_fd = -1};
}

void agent_run_end_job(struct agent *a)
{
    struct agent_run *run = &a->run;

    job_keeper_close(a);
    coordinator_session_close(run->coordinator_session);
    run->coordinator_session = NULL;
    hook_close(run->hook);
    run->hook = NULL;
    rank_mpi_close(a);
    copier_child_end(run->copier); /* it writes into the job directory */
    job_place_close(a);
    agent_ranks_close(a);
    job_report_close(a);
    json_decref(run->shared);
    run->shared = NULL;
    job_spec_destroy(run->job);
    run->job = NULL;
}

void agent_run_close(struct agent *a)
{
    probe_run_close(&a->run.probe);
    copier_child_close(a->run.copier);
    a->run.copier = NULL;
    stack_child_close(a->run.stack_child);
    a->run.stack_child = NULL;
    agent_run_end_job(a);
}
