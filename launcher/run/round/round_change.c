/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_change.h"

#include "common/clock.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/run/round/job_round_losses.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>

static int run_check(const struct job_round *r, struct fault *why)
{
    if (r->state != JOB_ROUND_RUNNING || r->stop_wanted)
        return fault_set(why, ML_ERR_STATE, "its ranks do not run %s",
                         r->state < JOB_ROUND_RUNNING ? "yet" : "any more");
    if (!r->has_met)
        return fault_set(why, ML_ERR_STATE,
                         "its ranks have not all called ml_init yet, and until then none can come "
                         "or go");
    return 0;
}

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

    if (run_check(r, why) || rank_set_check(ranks, r->plan->size, why))
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

int round_change_shrink(struct job_round *r, const struct rank_set *ranks, const char *by,
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

bool round_change_has_shrunk(const struct job_round *r, const struct rank_set *ranks)
{
    for (int i = 0; i < r->plan->size; i++)
        if (rank_set_has(ranks, i) && !r->ranks[i].ended)
            return false;
    return true;
}

/* What is made for the ranks of the start alone; NULL: nothing. */
static const char *obstacle_of(const struct plan *p)
{
    const struct options *o = p->options;

    return p->job.container                             ? "--container"
           : o->pty                                     ? "--pty"
           : o->record || o->trace || o->compare_hashes ? "--record, --trace or --compare-hashes"
           : p->output == OUTPUT_DIR                    ? "--output DIR"
                                                        : NULL;
}

int round_change_may_grow(const struct job_round *r, int host, struct fault *why)
{
    const struct job_round_member *m = &r->members[host];
    const char *obstacle = obstacle_of(r->plan);

    if (run_check(r, why))
        return why->code;
    if (obstacle)
        return fault_set(why, ML_ERR_STATE,
                         "%s is for the ranks that the job began with; it cannot get others",
                         obstacle);
    for (int i = 0; i < r->plan->host_count; i++)
        if (r->members[i].is_arriving || r->is_moving)
            return fault_set(why, ML_ERR_STATE,
                             "another host is taking the place of a lost one just now; try again");
    if (m->state != MEMBER_STARTED)
        return fault_set(why, ML_ERR_STATE,
                         "host %s is not there any more: it was lost, or its last rank has ended",
                         m->host->name);
    return 0;
}

void round_change_grow(struct job_round *r, int first, const char *by)
{
    struct rank_list list = {0};

    for (int i = first; i < r->plan->size; i++) {
        const struct planned_rank *p = &r->plan->ranks[i];
        const uint32_t words[] = {(uint32_t)i, (uint32_t)p->host, (uint32_t)p->app};

        rank_list_add(&list, i);
        r->ranks[i] = (struct job_round_rank){.is_added = true,
                                              .is_unstarted = true,
                                              .is_left_out = true,
                                              .is_coming = true,
                                              .died_ms = clock_ms()};
        r->coming++;
        r->ranks_left++;
        for (int k = 0; k < r->plan->host_count; k++)
            if (r->members[k].state == MEMBER_STARTED || r->members[k].state == MEMBER_DONE)
                agent_channel_send_words(r->members[k].channel, LAUNCH_GROW, words, 3);
    }
    output_say(r->config.output, "the job gets %s (mlaunch grow %s)", rank_list_end(&list), by);
    round_change_start(r);
}

/* Whether an agent that has a say has yet to answer. */
static bool is_known(const struct job_round *r, int rank)
{
    for (int i = 0; i < r->plan->host_count; i++) {
        const struct job_round_member *m = &r->members[i];

        if ((m->state == MEMBER_STARTED || m->state == MEMBER_DONE) && m->ranks_known <= rank)
            return false;
    }
    return true;
}

void round_change_start(struct job_round *r)
{
    for (int i = 0; i < r->plan->size && r->state == JOB_ROUND_RUNNING; i++) {
        struct job_round_member *m = &r->members[r->plan->ranks[i].host];
        const uint32_t words[] = {(uint32_t)i, 1};

        if (!r->ranks[i].is_unstarted || r->ranks[i].ended || !is_known(r, i))
            continue;
        r->ranks[i].is_unstarted = false;
        agent_channel_send_words(m->channel, LAUNCH_REPLACE, words, 2);
    }
}

bool round_change_has_grown(const struct job_round *r, int first, int count, bool *have_ended)
{
    *have_ended = false;
    for (int i = first; i < first + count; i++) {
        if (!r->ranks[i].pid && !r->ranks[i].ended)
            return false;
        *have_ended |= r->ranks[i].ended;
    }
    return true;
}
