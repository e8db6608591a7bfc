/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/agent_ranks.h"

#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/rank_pty.h"

#include <event2/event.h>
#include <stdlib.h>

int agent_ranks_open(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->run.job;
    struct agent_rank *all = calloc((size_t)job->rank_most, sizeof(*all));

    if (!all)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    a->run.ranks.all = all;
    for (int i = 0; i < job->rank_count; i++) {
        struct agent_rank *r = &all[i];

        r->agent = a;
        r->job = &job->ranks[i];
        r->pty = -1;
        if (job_spec_has_stdin(job, r->job->rank)) {
            int rc = rank_input_create(r, why);

            if (rc)
                return fault_wrap(why, "rank %d", r->job->rank);
        }
    }
    return 0;
}

void agent_ranks_close(struct agent *a)
{
    struct agent_ranks *ranks = &a->run.ranks;

    rank_output_release(a);
    for (int i = 0; ranks->all && i < a->run.job->rank_count; i++) {
        rank_input_close(&ranks->all[i]);
        rank_output_close(&ranks->all[i]);
        rank_pty_close(&ranks->all[i]);
    }
    for (int i = 0; ranks->environments && i < a->run.job->app_count; i++)
        rank_environment_destroy(ranks->environments[i]);
    if (ranks->spawn_event)
        event_free(ranks->spawn_event);
    free(ranks->ibv_devices);
    free(ranks->ring_hosts);
    free(ranks->environments);
    free(ranks->all);
    *ranks = (struct agent_ranks){0};
}
