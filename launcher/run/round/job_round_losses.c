/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round_losses.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/net/host_table.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_round_losses_end(struct job_round *r, int rank)
{
    struct job_round_rank *one = &r->ranks[rank];

    if (one->ended)
        return;
    one->ended = true;
    r->ranks_left--;
    r->coming -= one->is_coming;
    one->is_coming = false;
    input_rank_ended(r->config.input, rank);
    if (r->config.on_rank_changed)
        r->config.on_rank_changed(r->config.arg);
    if (r->ranks_left == 0 && r->state == JOB_ROUND_RUNNING)
        job_round_steps_await_done(r);
}

void job_round_losses_end_all(struct job_round *r, const struct job_round_member *m)
{
    for (int i = 0; i < r->plan->size; i++) {
        if (&r->members[r->plan->ranks[i].host] == m)
            job_round_losses_end(r, i);
    }
}

static bool may_replace(const struct job_round *r)
{
    return r->plan->job.elastic && r->plan->job.restarts;
}

void job_round_losses_await(struct job_round *r, int rank)
{
    struct job_round_rank *one = &r->ranks[rank];

    one->restarts++;
    one->died_ms = clock_ms();
    if (!r->dead_ms)
        r->dead_ms = one->died_ms;
    r->coming += !one->is_coming;
    one->is_coming = true;
    one->aborted = false;
    input_rank_ended(r->config.input, rank);
}

bool job_round_losses_replace(struct job_round *r, int rank, const char *text)
{
    struct job_round_rank *one = &r->ranks[rank];
    struct job_round_member *m = &r->members[r->plan->ranks[rank].host];
    int others = r->ranks_left - 1 - (r->coming - one->is_coming);

    if (!may_replace(r) || one->is_leaving || one->restarts >= r->plan->job.restarts ||
        others == 0 || r->state != JOB_ROUND_RUNNING || r->stop_wanted ||
        m->state != MEMBER_STARTED)
        return false;
    job_round_losses_await(r, rank);
    output_say(r->config.output, "%s; another process takes its place (restart %d of %d)", text,
               one->restarts, r->plan->job.restarts);
    agent_channel_send_words(
        m->channel, LAUNCH_REPLACE,
        (const uint32_t[]){(uint32_t)rank, (uint32_t)(one->restarts + one->is_added)}, 2);
    return true;
}

void job_round_losses_vacate(struct job_round *r, int rank)
{
    const struct job_round_member *m = &r->members[r->plan->ranks[rank].host],
                                  *coordinator = &r->members[r->coordinator_host];
    const uint32_t words[] = {(uint32_t)rank, 0};
    bool has_moved = r->coordinator_host != r->plan->ranks[0].host;

    if (may_replace(r) && m->state == MEMBER_STARTED)
        agent_channel_send_words(m->channel, LAUNCH_REPLACE, words, 2);
    /* One that takes over may hear it from nobody else: the end was behind COORDINATE, and before
     * MOVED, which an agent whose last rank it was does not get. */
    if ((may_replace(r) || has_moved) && m != coordinator && coordinator->state != MEMBER_GONE)
        agent_channel_send_words(coordinator->channel, LAUNCH_REPLACE, words, 2);
}

void job_round_losses_end_coming(struct job_round *r)
{
    if (r->coming == 0 || r->coming < r->ranks_left || r->state != JOB_ROUND_RUNNING ||
        r->stop_wanted)
        return;
    for (int i = 0; i < r->plan->size; i++)
        r->ranks[i].is_unneeded = r->ranks[i].is_coming;
    job_round_phases_want_stop(r, SIGTERM, r->plan->job.grace_ms);
}

void job_round_losses_forget(struct job_round *r)
{
    if (r->plan->job.elastic && !r->stop_wanted && r->state == JOB_ROUND_RUNNING)
        r->failure = (struct first_failure){0};
}

void job_round_losses_die(struct job_round *r, int count, const char *text, bool are_left_out)
{
    bool has_ended; /* the job, well */
    int lives;

    r->dead += count;
    lives = r->plan->size - r->dead;
    if (!r->dead_ms)
        r->dead_ms = clock_ms();
    if (r->state != JOB_ROUND_RUNNING || r->stop_wanted)
        return;
    has_ended = are_left_out && r->ranks_left == r->coming && lives >= r->plan->job.elastic;
    if (has_ended)
        output_say(r->config.output, "%s; %d rank%s went on without it (--elastic %d)", text, lives,
                   lives == 1 ? "" : "s", r->plan->job.elastic);
    else if (job_round_phases_outlives(r))
        output_say(r->config.output, "%s; %d rank%s may go on (--elastic %d)", text, lives,
                   lives == 1 ? "" : "s", r->plan->job.elastic);
    if (has_ended)
        job_round_losses_forget(r);
    job_round_phases_on_failure(r, true);
}

/* The members change to those. The lists for the event say by how. */
static void members_set(struct job_round *r, const struct repaired_report *repaired,
                        json_t *members, json_t *left, json_t *came)
{
    for (int i = 0, k = 0; i < r->plan->size; i++) {
        struct job_round_rank *one = &r->ranks[i];
        const bool is_member = k < repaired->count && repaired->members[k] == i;

        k += is_member;
        if (is_member)
            json_array_append_new(members, json_integer(i));
        if (is_member && (one->is_coming || one->is_left_out))
            json_array_append_new(came, json_integer(i));
        if (!is_member && !one->is_left_out)
            json_array_append_new(left, json_integer(i));
        one->is_left_out = !is_member;
    }
}

/* It is a member. */
static void rank_admit(struct job_round *r, int rank)
{
    struct job_round_rank *one = &r->ranks[rank];
    const char *host = r->members[r->plan->ranks[rank].host].host->name;
    int64_t took_ms = clock_ms() - one->died_ms;

    if (!one->is_coming)
        return;
    one->is_coming = false;
    r->coming--;
    log_info("rank %d on host %s: %s, after %lld ms", rank, host,
             one->is_added && one->restarts == 0 ? "it is a member" : "its place is filled again",
             (long long)took_ms);
    events_file_write(
        r->config.events, one->is_added && one->restarts == 0 ? "grown" : "replaced",
        r->identity.id,
        json_pack("{s:i, s:s, s:I}", "rank", rank, "host", host, "ms", (json_int_t)took_ms));
}

int job_round_losses_on_repaired(struct job_round *r, struct job_round_member *m,
                                 const struct frame *f, struct fault *why)
{
    json_t *members = json_array(), *left = json_array(), *came = json_array();
    struct repaired_report repaired;
    int64_t took_ms = r->dead_ms ? clock_ms() - r->dead_ms : 0;
    int least = r->plan->job.elastic;

    if (repaired_report_parse(&repaired, f, r->plan->size, why)) {
        json_decref(members);
        json_decref(left);
        json_decref(came);
        return why->code;
    }
    (void)m;
    r->dead_ms = 0;
    r->generation = repaired.now.generation;
    r->membership = repaired.now.number;
    members_set(r, &repaired, members, left, came);
    broken_pairs_expire(&r->broken, r->generation, r->membership);
    for (int i = 0; i < repaired.count; i++)
        rank_admit(r, repaired.members[i]);
    if (repaired.count == r->plan->size)
        job_round_losses_forget(r);
    log_info("membership %lld: %d of %d ranks, after %lld ms", (long long)r->membership,
             repaired.count, r->plan->size, (long long)took_ms);
    events_file_write(r->config.events, "repaired", r->identity.id,
                      json_pack("{s:I, s:o, s:o, s:o, s:I}", "membership",
                                (json_int_t)r->membership, "members", members, "left", left, "came",
                                came, "ms", (json_int_t)took_ms));
    free(repaired.members);
    if (repaired.count < least) {
        first_failure_shrunk(&r->failure, repaired.count, r->plan->size, least);
        job_round_phases_on_failure(r, false);
    }
    return 0;
}

int job_round_losses_members(const struct job_round *r)
{
    int count = 0;

    for (int i = 0; i < r->plan->size; i++)
        count += !r->ranks[i].is_left_out;
    return count;
}

void job_round_losses_report(const struct job_round *r)
{
    const int members = job_round_losses_members(r);
    struct rank_list left = {0};

    if (r->membership == 0 || members == r->plan->size)
        return;
    for (int i = 0; i < r->plan->size; i++)
        if (r->ranks[i].is_left_out)
            rank_list_add(&left, i);
    output_say(r->config.output, "the job has ended well with %d of %d ranks, without %s", members,
               r->plan->size, rank_list_end(&left));
}
