/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_change.h"

#include "common/clock.h"
#include "common/status.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/run/round/job_round_hosts.h"
#include "launcher/run/round/job_round_losses.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_check(const struct job_round *r, struct fault *why)
{
    if (!job_round_state_is_running(r))
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

/* Whether the host can get another rank. */
static int host_check(const struct job_round *r, int host, struct fault *why)
{
    if (host < r->plan->host_count && r->members[host].state != MEMBER_STARTED)
        return fault_set(why, ML_ERR_STATE,
                         "host %s is not there any more: it was lost, or its last rank has ended",
                         r->members[host].host->name);
    if (host >= r->plan->host_count && strcmp(r->plan->backend, "rdma") == 0)
        return fault_set(why, ML_ERR_STATE,
                         "over RDMA the job grows on the hosts that it has, whose wiring is known");
    return 0;
}

static int grow_check(const struct job_round *r, const struct plan_growth *wanted,
                      struct fault *why)
{
    const char *obstacle = obstacle_of(r->plan);
    int rc = run_check(r, why);

    if (!rc && obstacle)
        rc = fault_set(why, ML_ERR_STATE,
                       "%s is for the ranks that the job began with; it cannot get others",
                       obstacle);
    if (!rc && r->growth.plan)
        rc = fault_set(why, ML_ERR_STATE,
                       "it is getting hosts just now (mlaunch grow %s); try again", r->growth.by);
    for (int i = 0; i < r->plan->host_count && !rc; i++)
        if (r->members[i].is_arriving || r->is_moving)
            rc = fault_set(why, ML_ERR_STATE,
                           "another host is taking the place of a lost one just now; try again");
    for (int i = 0; i < wanted->rank_count && !rc; i++)
        rc = host_check(r, wanted->ranks[i], why);
    return rc;
}

/* The plan has ranks from `first` on, and hosts from `hosts` on, that no agent knows yet. */
static void ranks_come(struct job_round *r, int first, int hosts, const char *by)
{
    struct rank_list list = {0};

    for (int i = 0; i < hosts; i++)
        for (int k = hosts; k < r->plan->host_count && job_round_member_is_there(&r->members[i]);
             k++)
            job_round_hosts_tell(r, &r->members[i], k, NULL);
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
        for (int k = 0; k < hosts; k++)
            if (job_round_member_is_there(&r->members[k]))
                agent_channel_send_words(r->members[k].channel, LAUNCH_GROW, words, 3);
    }
    output_say(r->config.output, "the job gets %s (mlaunch grow %s)", rank_list_end(&list), by);
    round_change_start(r);
}

/* --- hosts that the job does not have --------------------------------------------------------- */

/* No host is on its way any more: the job is as it was. */
static void growth_end(struct job_round *r)
{
    for (int i = r->plan->host_count; i < job_round_members(r); i++)
        if (r->members[i].state != MEMBER_GONE)
            return;
    r->growth.plan = NULL;
    plan_growth_clear(&r->growth.wanted);
    if (job_round_state_is_running(r))
        output_say(r->config.output, "%s; the job goes on without (mlaunch grow %s)",
                   r->growth.failed, r->growth.by);
    r->config.on_hosts_came(-1, r->growth.failed, r->config.arg);
}

/* The others are let go: all come, or none. */
static void growth_fail(struct job_round *r, const char *name, const char *text)
{
    snprintf(r->growth.failed, sizeof(r->growth.failed), "host %s did not come: %s", name, text);
    for (int i = r->plan->host_count; i < job_round_members(r); i++) {
        struct job_round_member *m = &r->members[i];

        if (!m->channel)
            m->state = MEMBER_GONE;
        else if (m->state != MEMBER_GONE)
            agent_channel_shut(m->channel); /* perhaps it ends at once */
    }
}

void round_change_host_gone(struct job_round *r, struct job_round_member *m, const char *text)
{
    bool is_over = !job_round_state_is_running(r);

    env_copy_lose(m->copy, (int)(m - r->members));
    if (!r->growth.failed[0])
        growth_fail(r, m->host->name, is_over ? "the job ends" : m->failed ? m->reason : text);
    if (r->growth.plan)
        growth_end(r);
}

int round_change_host_greeted(struct job_round *r, struct fault *why)
{
    struct plan grown;
    int rc;

    if (r->growth.failed[0] || !job_round_state_is_running(r))
        return 0;
    for (int i = r->plan->host_count; i < job_round_members(r); i++)
        if (r->members[i].state != MEMBER_CONNECTED)
            return 0;
    rc = plan_growth_preview(&grown, r->plan, &r->growth.wanted, why);
    if (rc)
        return rc;
    for (int i = r->plan->host_count; i < grown.host_count && !rc; i++)
        rc = job_round_hosts_copy(r, &r->members[i], why);
    if (!rc)
        rc = job_round_steps_prepare_new(r, &grown, why);
    free(grown.hosts);
    return rc;
}

/* Whether all is as the JOB of the new hosts has it, and stays so while the others learn of them. A
 * host that has got its own JOB before learns nothing until it has START. */
static bool growth_may_begin(const struct job_round *r)
{
    if (r->growth.failed[0] || r->is_moving || !job_round_state_is_running(r))
        return false;
    for (int i = 0; i < job_round_members(r); i++) {
        const struct job_round_member *m = &r->members[i];

        if (i < r->plan->host_count ? m->state == MEMBER_CONNECTED || m->state == MEMBER_PREPARED
                                    : m->state != MEMBER_PREPARED)
            return false;
    }
    return true;
}

static void growth_begin(struct job_round *r)
{
    int hosts = r->plan->host_count, first = plan_growth_apply(r->growth.plan, &r->growth.wanted);

    r->growth.plan = NULL;
    plan_growth_clear(&r->growth.wanted);
    for (int k = hosts; k < r->plan->host_count; k++)
        job_round_hosts_keep(r, &r->members[k], r->members[k].keeper);
    for (int i = 0; i < hosts && r->has_placed; i++) /* perhaps since they got JOB */
        for (int k = hosts; k < r->plan->host_count; k++)
            job_round_hosts_tell(r, &r->members[k], i, NULL);
    r->config.on_hosts_came(first, NULL, r->config.arg);
    ranks_come(r, first, hosts, r->growth.by);
}

static void host_open(struct job_round *r, int index)
{
    struct job_round_member *m = &r->members[index];
    struct agent_channel *channel = agent_session_reach(r->session, index, m->host);

    if (m->state != MEMBER_GONE)
        m->channel = channel;
}

static int hosts_reach(struct job_round *r, struct plan *p, const struct plan_growth *wanted,
                       const char *by, struct fault *why)
{
    int hosts = r->plan->host_count, count = wanted->host_count;

    r->growth = (struct job_round_growth){.plan = p, .wanted = *wanted};
    snprintf(r->growth.by, sizeof(r->growth.by), "%s", by);
    for (int i = 0; i < count; i++) /* which one that did not come may have been before */
        job_round_hosts_expect(r, &r->members[hosts + i], &p->list->hosts[wanted->hosts[i]], 0);
    for (int i = 0; i < count && !r->growth.failed[0]; i++)
        host_open(r, hosts + i);
    return r->growth.plan ? 0 : fault_set(why, ML_ERR_STATE, "%.500s", r->growth.failed);
}

/* --- from outside ----------------------------------------------------------------------------- */

int round_change_grow(struct job_round *r, struct plan *p, struct plan_growth *wanted,
                      const char *by, int *first, struct fault *why)
{
    int rc = grow_check(r, wanted, why);

    if (rc)
        return rc;
    *first = -1;
    if (wanted->host_count > 0) {
        rc = hosts_reach(r, p, wanted, by, why);
        *wanted = (struct plan_growth){0}; /* the round's now */
        return rc;
    }
    *first = plan_growth_apply(p, wanted);
    ranks_come(r, *first, r->plan->host_count, by);
    return 0;
}

void round_change_start(struct job_round *r)
{
    if (r->growth.plan && growth_may_begin(r))
        growth_begin(r); /* which leads here again */
    for (int i = 0; i < r->plan->size && r->state == JOB_ROUND_RUNNING; i++) {
        struct job_round_member *m = &r->members[r->plan->ranks[i].host];
        const uint32_t words[] = {(uint32_t)i, 1};

        if (!r->ranks[i].is_unstarted || r->ranks[i].ended || !job_round_hosts_know(r, i))
            continue;
        if (m->is_arriving && m->state == MEMBER_PREPARED)
            job_round_hosts_on_ready(r, m);
        if (m->is_arriving || !r->ranks[i].is_unstarted)
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
