/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/elastic_refusal.h"

#include "launcher/run/state/job_round_state.h"

int elastic_refusal_set(const struct job_round *r, const struct elastic_action *a,
                        struct fault *why)
{
    const char *when = r->state < JOB_ROUND_RUNNING ? "yet" : "any more";
    int least = r->plan->job.elastic;

    switch (a->reason) {
    case ELASTIC_NOT_RUNNING:
        return fault_set(why, ML_ERR_STATE, "its ranks do not run %s", when);
    case ELASTIC_NOT_MET:
        return fault_set(why, ML_ERR_STATE,
                         "its ranks have not all called ml_init yet, and until then none can come "
                         "or go");
    case ELASTIC_HOSTS_COME:
        return fault_set(why, ML_ERR_STATE,
                         "another host is taking the place of a lost one just now; try again");
    case ELASTIC_HAS_ENDED:
        return fault_set(why, ML_ERR_STATE, "rank %d has ended before", a->rank);
    case ELASTIC_IS_LEAVING:
        return fault_set(why, ML_ERR_STATE, "rank %d is leaving already", a->rank);
    default:
        return fault_set(why, ML_ERR_STATE, "%d rank%s would be left, and %d %s needed (--elastic)",
                         a->number, a->number == 1 ? "" : "s", least, least == 1 ? "is" : "are");
    }
}
