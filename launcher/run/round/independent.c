/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/independent.h"

#include "common/status.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/round/round_elastic.h"
#include "launcher/run/state/escalation.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/stdio/output.h"

#include <signal.h>
#include <stdio.h>

enum { RESULT = sizeof(((struct job_round_host *)NULL)->reason) + 300 };

/* Once the end of the job was asked for, that is why a rank has ended. */
static void rank_report(const struct job_round *r, int rank, int status, const char *text)
{
    const struct rank_results *results = r->config.results;

    if (r->lives.ranks[rank].life == RANK_OVER)
        return;
    if (r->stop.cause != STOP_NONE)
        status = escalation_status(r->stop.cause, r->stop.signal);
    else if (text)
        output_say_of(r->config.output, rank, text);
    results->on_end(rank, status, results->arg);
}

/* The ranks of the host that have no result yet get this one. text: a sentence, or NULL. */
static void ranks_report(const struct job_round *r, const struct job_round_host *h, int status,
                         const char *text)
{
    for (int i = 0; i < r->plan->where->size; i++)
        if (job_round_state_is_on(r, i, h))
            rank_report(r, i, status, text);
}

/* The host cannot go on. */
static void host_end(struct job_round *r, struct job_round_host *h, int status, const char *text)
{
    ranks_report(r, h, status, text);
    round_elastic_end_all(r, h);
    if (lives_host_is_starting(h->facts->life)) {
        round_lives_host(h, HOST_EVENT_FAIL);
        agent_channel_shut(h->channel);
    }
    job_round_steps_stop_host(r, h);
}

static int begin(struct job_round *r, struct fault *why)
{
    (void)why;
    r->state = JOB_ROUND_RUNNING;
    job_round_steps_begin(r);
    return 0;
}

static int on_hello(struct job_round *r, struct job_round_host *h, struct fault *why)
{
    return job_round_steps_prepare_host(r, (int)(h - r->hosts), why);
}

static bool is_preparing(const struct job_round *r, const struct job_round_host *h)
{
    (void)r;
    return h->facts->life == HOST_CONNECTED;
}

static void on_ready(struct job_round *r, struct job_round_host *h)
{
    if (r->state == JOB_ROUND_RUNNING)
        job_round_steps_start_host(r, (int)(h - r->hosts));
}

static void on_refused(struct job_round *r, struct job_round_host *h)
{
    char text[RESULT];

    snprintf(text, sizeof(text), "host %s: %s", h->host->name, h->reason);
    host_end(r, h, h->status, text);
    agent_channel_shut(h->channel);
}

static void on_exited(struct job_round *r, struct job_round_host *h, const struct exited_report *e)
{
    int status = e->signal ? STATUS_SIGNAL + e->signal : e->status;
    char text[1024];

    first_failure_describe(text, sizeof(text), e, h->host->name);
    rank_report(r, e->rank, status, status < STATUS_OURS ? NULL : text);
    round_elastic_end(r, e->rank);
}

static void on_lost(struct job_round *r, struct job_round_host *h, const struct lost_report *lost,
                    bool is_killed)
{
    char text[RESULT];

    snprintf(text, sizeof(text), "%s%s%s%s", is_killed ? "" : "host ",
             is_killed ? "" : h->host->name, is_killed ? "" : " was lost: ", lost->text);
    host_end(r, h, is_killed ? STATUS_SIGNAL + SIGTERM : STATUS_OURS, text);
}

static void on_done(struct job_round *r, struct job_round_host *h)
{
    ranks_report(r, h, STATUS_OURS, NULL); /* EXITED has come, unless it was stopped */
    round_elastic_end_all(r, h);
}

static void on_end(struct job_round *r, struct job_round_host *h, enum host_life before,
                   const char *text)
{
    char result[RESULT];

    snprintf(result, sizeof(result), "host %s%s: %s", h->host->name,
             lives_host_takes_part(before) ? " was lost" : "", text);
    host_end(r, h, STATUS_OURS, result);
}

static void report(const struct job_round *r)
{
    for (int i = 0; i < r->plan->where->host_count; i++)
        ranks_report(r, &r->hosts[i], STATUS_OURS, NULL); /* the agent has said nothing */
}

const struct round_driver independent_driver = {.begin = begin,
                                                .on_hello = on_hello,
                                                .is_preparing = is_preparing,
                                                .on_ready = on_ready,
                                                .on_refused = on_refused,
                                                .on_exited = on_exited,
                                                .on_lost = on_lost,
                                                .on_done = on_done,
                                                .on_end = on_end,
                                                .report = report};
