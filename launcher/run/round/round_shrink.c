/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_shrink.h"

#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/run/round/job_round_losses.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>

/* How many would live on without those. -1: one of them is none that can leave. */
static int living_without(const struct job_round *r, const struct rank_set *ranks,
                          struct fault *why)
{
    int lives = 0;

    for (int i = 0; i < r->plan->size; i++) {
        const struct job_round_rank *one = &r->ranks[i];

        if (!rank_set_has(ranks, i)) {
            lives += !one->ended && !one->is_leaving;
        } else if (one->ended || one->is_leaving) {
            fault_set(why, ML_ERR_STATE,
                      one->ended ? "rank %d has ended before" : "rank %d is leaving already", i);
            return -1;
        }
    }
    return lives;
}

static int shrink_check(const struct job_round *r, const struct rank_set *ranks, struct fault *why)
{
    int least = r->plan->job.elastic, lives;

    if (r->state != JOB_ROUND_RUNNING || r->stop_wanted)
        return fault_set(why, ML_ERR_STATE, "its ranks do not run %s",
                         r->state < JOB_ROUND_RUNNING ? "yet" : "any more");
    if (!r->has_met)
        return fault_set(why, ML_ERR_STATE,
                         "its ranks have not all called ml_init yet, and until then none can be "
                         "missing");
    if (rank_set_check(ranks, r->plan->size, why))
        return why->code;
    lives = living_without(r, ranks, why);
    if (lives < 0)
        return why->code;
    if (lives < least)
        return fault_set(why, ML_ERR_STATE, "%d rank%s would be left, and %d %s needed (--elastic)",
                         lives, lives == 1 ? "" : "s", least, least == 1 ? "is" : "are");
    return 0;
}

static void rank_leave(struct job_round *r, int rank)
{
    const uint32_t word = (uint32_t)rank;
    struct job_round_member *m = &r->members[r->plan->ranks[rank].host],
                            *coordinator = &r->members[r->coordinator_host];

    r->ranks[rank].is_leaving = true;
    if (m != coordinator && coordinator->state < MEMBER_GONE)
        agent_channel_send_words(coordinator->channel, LAUNCH_LEAVE, &word, 1);
    agent_channel_send_words(m->channel, LAUNCH_LEAVE, &word, 1);
}

int round_shrink_begin(struct job_round *r, const struct rank_set *ranks, const char *by,
                       struct fault *why)
{
    struct rank_list list = {0};
    json_t *numbers = json_array();
    char text[RANK_LIST_TEXT + 200];
    int rc = shrink_check(r, ranks, why);

    for (int i = 0; i < r->plan->size && !rc; i++) {
        if (!rank_set_has(ranks, i))
            continue;
        rank_list_add(&list, i);
        json_array_append_new(numbers, json_integer(i));
        rank_leave(r, i);
    }
    if (rc) {
        json_decref(numbers);
        return rc;
    }
    snprintf(text, sizeof(text), "%s %s the job (mlaunch shrink %s)", rank_list_end(&list),
             list.count == 1 ? "leaves" : "leave", by);
    events_file_write(r->config.events, "shrunk", r->identity.id,
                      json_pack("{s:o, s:o}", "ranks", numbers, "text", text_json(text)));
    job_round_losses_die(r, list.count, text, false);
    job_round_phases_advance(r);
    return 0;
}

bool round_shrink_is_over(const struct job_round *r, const struct rank_set *ranks)
{
    for (int i = 0; i < r->plan->size; i++)
        if (rank_set_has(ranks, i) && !r->ranks[i].ended)
            return false;
    return true;
}
