/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/host_result.h"

#include "common/status.h"
#include "launcher/run/round/escalation.h"
#include "launcher/run/stdio/output.h"

/* Once the end of the job was asked for, that is why a rank has ended. */
static void rank_report(const struct job_round *r, int rank, int status, const char *text)
{
    const struct rank_results *results = r->config.results;

    if (r->ranks[rank].ended)
        return;
    if (r->cause != STOP_NONE)
        status = escalation_status(r->cause, r->stop_signal);
    else if (text)
        output_say_of(r->config.output, rank, text);
    results->on_end(rank, status, results->arg);
}

void host_result_exited(const struct job_round *r, const struct exited_report *e, const char *host)
{
    int status = e->signal ? STATUS_SIGNAL + e->signal : e->status;
    char text[1024];

    first_failure_describe(text, sizeof(text), e, host);
    rank_report(r, e->rank, status, status < STATUS_OURS ? NULL : text);
}

void host_result_fail(const struct job_round *r, const struct job_round_member *m, int status,
                      const char *text)
{
    for (int i = 0; i < r->plan->size; i++) {
        if (&r->members[r->plan->ranks[i].host] == m)
            rank_report(r, i, status, text);
    }
}
