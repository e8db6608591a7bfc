/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_change.h"

#include "common/clock.h"
#include "common/status.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/run/round/host_arrival.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/round/round_elastic.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int round_change_shrink(struct job_round *r, const struct rank_set *ranks, const char *by,
                        struct fault *why)
{
    bool *is_asked = calloc((size_t)r->plan->where->size, sizeof(*is_asked));
    json_t *numbers = json_array();
    char text[RANK_LIST_TEXT + 200];
    struct rank_list list = {0};
    int rc = is_asked ? rank_set_check(ranks, r->plan->where->size, why)
                      : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (int i = 0; i < r->plan->where->size && !rc; i++) {
        is_asked[i] = rank_set_has(ranks, i);
        if (!is_asked[i])
            continue;
        rank_list_add(&list, i);
        json_array_append_new(numbers, json_integer(i));
    }
    snprintf(text, sizeof(text), "%s %s the job (mlaunch shrink %s)", rank_list_end(&list),
             list.count == 1 ? "leaves" : "leave", by);
    if (!rc)
        rc = round_elastic_shrink(r, is_asked, text, why);
    if (!rc)
        events_file_write(r->config.events, "shrunk", r->identity.id,
                          json_pack("{s:O, s:o}", "ranks", numbers, "text", text_json(text)));
    json_decref(numbers);
    free(is_asked);
    if (!rc)
        job_round_phases_advance(r);
    return rc;
}

bool round_change_has_shrunk(const struct job_round *r, const struct rank_set *ranks)
{
    for (int i = 0; i < r->plan->where->size; i++)
        if (rank_set_has(ranks, i) && r->lives.ranks[i].life != RANK_OVER)
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
    if (host < r->plan->where->host_count && !lives_host_goes_on(r->lives.hosts[host].life))
        return fault_set(why, ML_ERR_STATE,
                         "host %s is not there any more: it was lost, or its last rank has ended",
                         r->hosts[host].host->name);
    if (host >= r->plan->where->host_count && strcmp(r->plan->backend, "rdma") == 0)
        return fault_set(why, ML_ERR_STATE,
                         "over RDMA the job grows on the hosts that it has, whose wiring is known");
    return 0;
}

static int grow_check(const struct job_round *r, const struct plan_growth *wanted,
                      struct fault *why)
{
    const char *obstacle = obstacle_of(r->plan);
    int rc = round_elastic_grow(r, why);

    if (!rc && obstacle)
        rc = fault_set(why, ML_ERR_STATE,
                       "%s is for the ranks that the job began with; it cannot get others",
                       obstacle);
    if (!rc && r->growth.plan)
        rc = fault_set(why, ML_ERR_STATE,
                       "it is getting hosts just now (mlaunch grow %s); try again", r->growth.by);
    for (int i = 0; i < wanted->rank_count && !rc; i++)
        rc = host_check(r, wanted->ranks[i], why);
    return rc;
}

/* The plan has ranks from `first` on, and hosts from `hosts` on, that no agent knows yet. */
static void ranks_come(struct job_round *r, int first, int hosts, const char *by)
{
    struct rank_list list = {0};

    r->lives.host_count = r->plan->where->host_count;
    r->lives.size = r->plan->where->size;
    for (int i = 0; i < hosts; i++)
        for (int k = hosts;
             k < r->plan->where->host_count && lives_host_takes_part(r->lives.hosts[i].life); k++)
            host_arrival_tell(r, &r->hosts[i], k, NULL);
    for (int i = first; i < r->plan->where->size; i++) {
        const struct planned_rank *p = &r->plan->where->ranks[i];
        const uint32_t words[] = {(uint32_t)i, (uint32_t)p->host, (uint32_t)p->app};

        rank_list_add(&list, i);
        r->ranks[i] = (struct job_round_rank){.died_ms = clock_ms()};
        r->lives.ranks[i] =
            (struct live_rank){.life = RANK_ADDED, .host = p->host, .is_left_out = true};
        r->lives.coming++;
        r->lives.left++;
        for (int k = 0; k < hosts; k++)
            if (lives_host_takes_part(r->lives.hosts[k].life))
                agent_channel_send_words(r->hosts[k].channel, LAUNCH_GROW, words, 3);
    }
    output_say(r->config.output, "the job gets %s (mlaunch grow %s)", rank_list_end(&list), by);
    round_change_start(r);
}

/* --- hosts that the job does not have --------------------------------------------------------- */

/* No host is on its way any more: the job is as it was. */
static void growth_end(struct job_round *r)
{
    for (int i = r->plan->where->host_count; i < job_round_state_hosts(r); i++)
        if (lives_host_has_channel(r->lives.hosts[i].life))
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
    for (int i = r->plan->where->host_count; i < job_round_state_hosts(r); i++) {
        struct job_round_host *h = &r->hosts[i];

        if (!h->channel)
            round_lives_host(h, HOST_EVENT_END);
        else if (lives_host_has_channel(h->facts->life))
            agent_channel_shut(h->channel); /* perhaps it ends at once */
    }
}

void round_change_host_gone(struct job_round *r, struct job_round_host *h, const char *text)
{
    bool is_over = !job_round_state_is_running(r);

    if (!r->growth.failed[0])
        growth_fail(r, h->host->name, is_over ? "the job ends" : text);
    if (r->growth.plan)
        growth_end(r);
}

int round_change_host_greeted(struct job_round *r, struct fault *why)
{
    struct roster where;
    struct plan grown;
    int rc;

    if (r->growth.failed[0] || !job_round_state_is_running(r))
        return 0;
    for (int i = r->plan->where->host_count; i < job_round_state_hosts(r); i++)
        if (r->hosts[i].facts->life != HOST_CONNECTED)
            return 0;
    rc = plan_growth_preview(&grown, &where, r->plan, &r->growth.wanted, why);
    if (rc)
        return rc;
    for (int i = r->plan->where->host_count; i < grown.where->host_count && !rc; i++)
        rc = host_arrival_copy(r, &r->hosts[i], why);
    if (!rc)
        rc = job_round_steps_prepare_new(r, &grown, why);
    free(where.hosts);
    return rc;
}

/* Whether all is as the JOB of the new hosts has it, and stays so while the others learn of them. A
 * host that has got its own JOB before learns nothing until it has START. */
static bool growth_may_begin(const struct job_round *r)
{
    if (r->growth.failed[0] || (r->lives.coordinator == COORDINATOR_MOVES) ||
        !job_round_state_is_running(r))
        return false;
    for (int i = 0; i < job_round_state_hosts(r); i++) {
        const struct job_round_host *h = &r->hosts[i];

        if (i < r->plan->where->host_count
                ? h->facts->life == HOST_CONNECTED || h->facts->life == HOST_PREPARED
                : h->facts->life != HOST_PREPARED)
            return false;
    }
    return true;
}

static void growth_begin(struct job_round *r)
{
    int hosts = r->plan->where->host_count,
        first = plan_growth_apply(r->growth.plan, &r->growth.wanted);

    r->growth.plan = NULL;
    plan_growth_clear(&r->growth.wanted);
    for (int k = hosts; k < r->plan->where->host_count; k++)
        round_lives_keep(r, &r->hosts[k], r->hosts[k].keeper);
    for (int i = 0; i < hosts; i++) /* perhaps since they got JOB */
        for (int k = hosts; k < r->plan->where->host_count && r->hosts[i].placed > 0; k++)
            host_arrival_tell(r, &r->hosts[k], i, NULL);
    r->config.on_hosts_came(first, NULL, r->config.arg);
    ranks_come(r, first, hosts, r->growth.by);
}

static void host_open(struct job_round *r, int index)
{
    struct job_round_host *h = &r->hosts[index];
    struct agent_channel *channel = agent_session_reach(r->session, index, h->host);

    if (lives_host_has_channel(h->facts->life))
        h->channel = channel;
}

static int hosts_reach(struct job_round *r, struct plan *p, const struct plan_growth *wanted,
                       const char *by, struct fault *why)
{
    int hosts = r->plan->where->host_count, count = wanted->host_count;

    r->growth = (struct job_round_growth){.plan = p, .wanted = *wanted};
    snprintf(r->growth.by, sizeof(r->growth.by), "%s", by);
    for (int i = 0; i < count; i++) /* which one that did not come may have been before */
        host_arrival_expect(r, &r->hosts[hosts + i], &p->list->hosts[wanted->hosts[i]], 0);
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
    ranks_come(r, *first, r->plan->where->host_count, by);
    return 0;
}

void round_change_start(struct job_round *r)
{
    if (r->growth.plan && growth_may_begin(r))
        growth_begin(r); /* which leads here again */
    for (int i = 0; i < r->plan->where->size && r->state == JOB_ROUND_RUNNING; i++) {
        struct job_round_host *h = &r->hosts[r->lives.ranks[i].host];
        const uint32_t words[] = {(uint32_t)i, 1};

        if (r->lives.ranks[i].life != RANK_ADDED || !host_arrival_know(r, i))
            continue;
        if (h->facts->is_coming && h->facts->life == HOST_PREPARED)
            round_elastic_host(r, h, ELASTIC_HOST_READY, NULL);
        if (h->facts->is_coming || r->lives.ranks[i].life != RANK_ADDED)
            continue;
        round_lives_rank(r, i, RANK_EVENT_KNOWN);
        agent_channel_send_words(h->channel, LAUNCH_REPLACE, words, 2);
    }
}

bool round_change_has_grown(const struct job_round *r, int first, int count, bool *have_ended)
{
    *have_ended = false;
    for (int i = first; i < first + count; i++) {
        if (!r->ranks[i].pid && r->lives.ranks[i].life != RANK_OVER)
            return false;
        *have_ended |= r->lives.ranks[i].life == RANK_OVER;
    }
    return true;
}
