/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/together.h"

#include "common/log.h"
#include "launcher/run/round/host_arrival.h"
#include "launcher/run/round/host_reach.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/round_elastic.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/wire/protocol/agent_protocol.h"

static int begin(struct job_round *r, struct fault *why)
{
    return progress_line_start(&r->progress, r->config.base, r->config.output,
                               r->plan->where->host_count, why);
}

static int on_hello(struct job_round *r, struct job_round_host *h, struct fault *why)
{
    if (h->facts->is_coming && !r->stop.is_wanted)
        return host_arrival_on_hello(r, h, why);
    job_round_phases_advance(r);
    return 0;
}

static bool is_preparing(const struct job_round *r, const struct job_round_host *h)
{
    return r->state == JOB_ROUND_PREPARING ||
           (h->facts->is_coming && h->facts->life == HOST_CONNECTED);
}

static void on_ready(struct job_round *r, struct job_round_host *h)
{
    if (h->facts->is_coming && !r->stop.is_wanted)
        round_elastic_host(r, h, ELASTIC_HOST_READY, NULL);
}

static void on_refused(struct job_round *r, struct job_round_host *h)
{
    (void)r;
    if (h->facts->is_coming)
        agent_channel_shut(h->channel);
}

static void on_exited(struct job_round *r, struct job_round_host *h, const struct exited_report *e)
{
    enum rank_life life = r->lives.ranks[e->rank].life;
    enum blame blame = BLAME_NONE;
    char text[1024];

    first_failure_describe(text, sizeof(text), e, h->host->name);
    if (life != RANK_NEEDLESS && life != RANK_LEAVES)
        blame = first_failure_exited(&r->failure, e, h->host->name);
    if (blame != BLAME_NONE && r->failure.rank == e->rank) /* the whole sentence is the verdict */
        log_info("rank %d on host %s: ended, %s %d", e->rank, h->host->name,
                 e->signal ? "signal" : "status", e->signal ? e->signal : e->status);
    else
        log_info("%s", text);
    round_elastic_rank(r, e, blame, text);
    /* The others may go on for long; what is said at their end comes too late. With --elastic the
     * rules have had it said. */
    if (blame == BLAME_CAUSE && !r->plan->job.elastic &&
        r->plan->options->on_failure == FAILURE_CONTINUE &&
        r->lives.ranks[e->rank].life == RANK_OVER && r->lives.left > 0 && log_level() < LOG_INFO)
        log_warn("%s", text);
}

static void on_lost(struct job_round *r, struct job_round_host *h, const struct lost_report *lost,
                    bool is_killed)
{
    if (h->facts->life == HOST_GIVEN_UP && !is_killed) {
        round_elastic_host(r, h, ELASTIC_HOST_RETURNS, NULL);
        return;
    }
    if (r->plan->job.elastic && !is_killed && !r->stop.is_wanted) {
        if (lost->coordinator[0])
            host_reach_cut_off(r, h, lost);
        else
            round_elastic_give_up(r, h, lost->text, lost->is_leaving);
        return;
    }
    round_lives_write_lost(h, is_killed ? "killed" : "lost", lost->text);
    if (is_killed && !r->failure.is_killed && r->stop.cause == STOP_NONE)
        output_say(r->config.output, "%s", lost->text);
    if (lost->by_slurm && !r->stop.is_wanted)
        r->stop.cause = STOP_SLURM;
    if (is_killed)
        first_failure_killed(&r->failure, lost->text);
    else
        first_failure_lost(&r->failure, lost->coordinator[0] ? BLAME_CUT_OFF : BLAME_CAUSE,
                           h->host->name, lost->text);
    job_round_phases_on_failure(r);
}

static void on_done(struct job_round *r, struct job_round_host *h)
{
    if (h->facts->is_coming) /* another host is to take its place */
        agent_channel_send(h->channel, LAUNCH_BYE, NULL, 0);
    else
        round_elastic_end_all(r, h);
    round_elastic_host(r, h, ELASTIC_HOST_DONE, NULL);
}

/* It is still away: no host has joined with its index for --init-timeout. */
static bool is_still_away(const struct job_round_host *h, enum host_life before)
{
    return before == HOST_OPENING && h->channel &&
           agent_channel_outlook(h->channel) == CHANNEL_MAY_RETURN;
}

/* Its ranks ran, or ranks of other hosts still need what is on this one. */
static bool is_missed(const struct job_round *r, const struct job_round_host *h,
                      enum host_life before)
{
    bool has_coordinator =
        r->plan->job.elastic && h == &r->hosts[r->lives.coordinator_host] && r->lives.left > 0;

    return r->state < JOB_ROUND_LEAVING &&
           (lives_host_goes_on(before) || (before == HOST_DONE && has_coordinator));
}

static void host_lose(struct job_round *r, struct job_round_host *h, const char *text)
{
    round_lives_write_lost(h, "lost", text);
    if (r->stop.cause != STOP_NONE)
        log_warn("host %s was lost: %s", h->host->name, text);
    round_elastic_host(r, h, ELASTIC_HOST_LOST, text);
}

static void on_end(struct job_round *r, struct job_round_host *h, enum host_life before,
                   const char *text)
{
    bool is_coming = h->facts->is_coming && job_round_state_is_running(r);

    if (is_coming && before >= HOST_STARTED)
        round_elastic_host(r, h, ELASTIC_HOST_CLEARED, h->reason);
    else if (is_coming)
        round_elastic_fails(r, h, before == HOST_FAILED ? h->reason : text,
                            is_still_away(h, before));
    else if (is_missed(r, h, before))
        host_lose(r, h, text);
}

static void report(const struct job_round *r)
{
    if (r->stop.cause == STOP_NONE && r->failure.blame == BLAME_NONE)
        round_elastic_report(r);
}

const struct round_driver together_driver = {.begin = begin,
                                             .on_hello = on_hello,
                                             .is_preparing = is_preparing,
                                             .on_ready = on_ready,
                                             .on_refused = on_refused,
                                             .on_exited = on_exited,
                                             .on_lost = on_lost,
                                             .on_done = on_done,
                                             .on_end = on_end,
                                             .report = report};
