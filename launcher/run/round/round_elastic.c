/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/round_elastic.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/net/host_table.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/run/record/call_log.h"
#include "launcher/run/round/elastic_refusal.h"
#include "launcher/run/round/host_arrival.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 1100 };

/* Before all ranks have called ml_init; programs that never call it are left alone. */
#define UNMET "not all ranks have called ml_init yet: whoever calls it fails, and the job ends then"

/* Actions that are being carried out. */
struct elastic_order {
    struct job_round *r;
    const struct elastic_event *event;
    const char *text;             /* about the event: round_elastic.h */
    struct rank_list unplaced;    /* ranks for which the new host has no slot */
    bool has_spare;               /* a spare host takes a place */
    int signal, grace_ms;         /* ELASTIC_STOP: with which the ranks are ended */
    struct elastic_action answer; /* ELASTIC_ADMIT, ELASTIC_REFUSE */
};

/* --- ranks ------------------------------------------------------------------------------------ */

static void rank_await(struct job_round *r, int rank, enum rank_event event)
{
    struct job_round_rank *one = &r->ranks[rank];

    r->lives.ranks[rank].restarts++;
    one->died_ms = clock_ms();
    if (!r->world.dead_ms)
        r->world.dead_ms = one->died_ms;
    one->is_aborted = false;
    one->replace_ms = 0;
    round_lives_rank(r, rank, event);
}

/* The number that the agents know the process by. */
static uint32_t process_number(const struct job_round *r, int rank)
{
    return (uint32_t)(r->lives.ranks[rank].restarts + (rank >= r->ranks_began));
}

static void replace_send(struct job_round *r, int rank)
{
    const struct job_round_host *h = &r->hosts[r->lives.ranks[rank].host];

    if (lives_host_goes_on(h->facts->life))
        agent_channel_send_words(h->channel, LAUNCH_REPLACE,
                                 (const uint32_t[]){(uint32_t)rank, process_number(r, rank)}, 2);
}

/* The timer is for the first that is due. */
static void replace_arm(struct job_round *r)
{
    int64_t first_ms = INT64_MAX;
    struct timeval time;
    int left_ms;

    for (int i = 0; i < r->plan->where->size; i++)
        if (r->ranks[i].replace_ms && r->ranks[i].replace_ms < first_ms)
            first_ms = r->ranks[i].replace_ms;
    if (first_ms == INT64_MAX)
        return;
    left_ms = clock_left_ms(first_ms);
    time = (struct timeval){left_ms / 1000, left_ms % 1000 * 1000};
    evtimer_add(r->world.replace_timer, &time);
}

void round_elastic_on_replace(evutil_socket_t fd, short what, void *arg)
{
    struct job_round *r = arg;

    (void)fd, (void)what;
    for (int i = 0; i < r->plan->where->size; i++) {
        if (!r->ranks[i].replace_ms || clock_left_ms(r->ranks[i].replace_ms) > 0)
            continue;
        r->ranks[i].replace_ms = 0;
        if (r->lives.ranks[i].life != RANK_PAUSES || !job_round_state_is_running(r))
            continue;
        round_lives_rank(r, i, RANK_EVENT_KNOWN);
        replace_send(r, i);
    }
    replace_arm(r);
    job_round_phases_advance(r);
}

static void rank_replace(const struct elastic_order *o, int rank, int ms)
{
    struct job_round *r = o->r;
    char when[32] = "", of[32] = "";
    bool is_early = !r->lives.has_met && r->lives.ranks[rank].restarts == 0; /* said once */

    rank_await(r, rank, ms > 0 ? RANK_EVENT_PAUSE : RANK_EVENT_REPLACE);
    r->lives.ranks[rank].fast = ms > 0 ? r->lives.ranks[rank].fast + 1 : 0;
    if (ms > 0)
        snprintf(when, sizeof(when), " in %d s", ms / 1000);
    if (r->plan->job.restarts < INT_MAX)
        snprintf(of, sizeof(of), " of %d", r->plan->job.restarts);
    output_say(r->config.output, "%s; another process takes its place%s (restart %d%s)%s", o->text,
               when, r->lives.ranks[rank].restarts, of, is_early ? ", but " UNMET : "");
    if (ms == 0) {
        replace_send(r, rank);
        return;
    }
    r->ranks[rank].replace_ms = clock_ms() + ms;
    replace_arm(r);
}

void round_elastic_end(struct job_round *r, int rank)
{
    bool was_left = r->lives.left > 0;

    round_lives_rank(r, rank, RANK_EVENT_END);
    if (was_left && r->lives.left == 0 && r->state == JOB_ROUND_RUNNING)
        job_round_steps_await_done(r);
}

void round_elastic_end_all(struct job_round *r, const struct job_round_host *h)
{
    for (int i = 0; i < r->plan->where->size; i++)
        if (job_round_state_is_on(r, i, h))
            round_elastic_end(r, i);
}

/* Agents wait for a word on the place of a rank that has ended, if there may be a next process. */
static void rank_vacate(struct job_round *r, int rank)
{
    const struct job_round_host *h = &r->hosts[r->lives.ranks[rank].host],
                                *coordinator = &r->hosts[r->lives.coordinator_host];
    const uint32_t words[] = {(uint32_t)rank, 0};
    bool may_replace = r->plan->job.elastic && r->plan->job.restarts;
    bool has_moved = r->lives.coordinator_host != r->lives.ranks[0].host;

    if (may_replace && lives_host_runs(h->facts->life))
        agent_channel_send_words(h->channel, LAUNCH_REPLACE, words, 2);
    /* One that takes over may hear it from nobody else: the end was behind COORDINATE, and before
     * MOVED, which an agent whose last rank it was does not get. */
    if ((may_replace || has_moved) && h != coordinator &&
        lives_host_has_channel(coordinator->facts->life))
        agent_channel_send_words(coordinator->channel, LAUNCH_REPLACE, words, 2);
}

static void leave_send(struct job_round *r, int rank)
{
    const uint32_t word = (uint32_t)rank;
    struct job_round_host *h = &r->hosts[r->lives.ranks[rank].host],
                          *coordinator = &r->hosts[r->lives.coordinator_host];

    round_lives_rank(r, rank, RANK_EVENT_LEAVE);
    if (h != coordinator && lives_host_has_channel(coordinator->facts->life))
        agent_channel_send_words(coordinator->channel, LAUNCH_LEAVE, &word, 1);
    agent_channel_send_words(h->channel, LAUNCH_LEAVE, &word, 1);
}

static void needless_end(struct job_round *r)
{
    for (int i = 0; i < r->plan->where->size; i++)
        if (lives_rank_is_coming(r->lives.ranks[i].life))
            round_lives_rank(r, i, RANK_EVENT_NEEDLESS);
}

/* --- sentences -------------------------------------------------------------------------------- */

/* The end of the sentence about a host whose place nobody takes. */
static const char *spares_end(const struct elastic_order *o)
{
    const struct plan *p = o->r->plan;

    return p->job.restarts && p->where->spare_count && o->event->spare_room == 0
               ? ", and no spare host is left"
               : "";
}

static void loss_describe(struct elastic_order *o, char out[SENTENCE], enum elastic_reason reason)
{
    const struct elastic_event *e = o->event;
    const char *name = e->host < 0 ? "" : plan_host(o->r->plan, e->host)->name;

    if (reason == ELASTIC_NO_SLOT)
        snprintf(out, SENTENCE, "host %.300s has no slot for %s", name,
                 rank_list_end(&o->unplaced));
    else if (reason == ELASTIC_UNFILLED)
        snprintf(out, SENTENCE, "host %s %s%s", name, o->text, spares_end(o));
    else if (e->kind == ELASTIC_HOST_LOST || e->kind == ELASTIC_HOST_GIVEN_UP)
        snprintf(out, SENTENCE, "host %s was lost: %s%s", name, o->text, spares_end(o));
    else
        snprintf(out, SENTENCE, "%s", o->text);
}

/* Unless it is the failure that mlaunch reports as the job's. */
static void end_say(const struct job_round *r, const char *loss, int left)
{
    const char *verdict = r->failure.text;
    int least = r->plan->job.elastic;

    if (strncmp(loss, verdict, strlen(verdict)) == 0)
        return;
    if (left < least)
        output_say(r->config.output, "%s; %d rank%s left, fewer than --elastic %d, so the job ends",
                   loss, left, left == 1 ? " is" : "s are", least);
    else
        output_say(r->config.output,
                   "%s; no rank is left that those to come can join, so the job ends", loss);
}

static void loss_say(struct elastic_order *o, const struct elastic_action *a)
{
    const struct job_round *r = o->r;
    const char *plural = a->number == 1 ? "" : "s";
    char loss[SENTENCE];

    loss_describe(o, loss, a->reason);
    if (a->act == ELASTIC_SAY_UNMET)
        output_say(r->config.output, "%s; " UNMET, loss);
    else if (a->act == ELASTIC_SAY_ENDS)
        end_say(r, loss, a->number);
    else if (a->act == ELASTIC_SAY_WENT_ON)
        output_say(r->config.output, "%s; %d rank%s went on without it (--elastic %d)", loss,
                   a->number, plural, r->plan->job.elastic);
    else
        output_say(r->config.output, "%s; %d rank%s may go on (--elastic %d)", loss, a->number,
                   plural, r->plan->job.elastic);
}

/* The ranks that come to this host. */
static const char *coming_list(const struct job_round *r, const struct job_round_host *h,
                               struct rank_list *list)
{
    for (int i = 0; i < r->plan->where->size; i++)
        if (job_round_state_is_on(r, i, h) && r->lives.ranks[i].life != RANK_OVER)
            rank_list_add(list, i);
    return rank_list_end(list);
}

static void awaits_say(const struct job_round *r, const struct job_round_host *h)
{
    struct rank_list list = {0};

    output_say(r->config.output,
               "host %s %s; a host that joins with --index %d takes its place (%s)", h->host->name,
               h->reason, h->host->join_index, coming_list(r, h, &list));
}

/* --- hosts ------------------------------------------------------------------------------------ */

static void gone_send(struct job_round *r, const struct job_round_host *h)
{
    const struct job_round_host *coordinator = &r->hosts[r->lives.coordinator_host];
    const uint32_t words[] = {(uint32_t)(h - r->hosts), (uint32_t)h->placed};

    if (h != coordinator && lives_host_has_channel(coordinator->facts->life))
        agent_channel_send_words(coordinator->channel, LAUNCH_GONE, words, 2);
}

/* COORDINATE says who has ended, or is to come. */
static void coordinator_order(struct job_round *r, int host)
{
    int *ended = calloc((size_t)r->plan->where->size, sizeof(*ended)), count = 0;

    for (int i = 0; ended && i < r->plan->where->size; i++)
        if (r->lives.ranks[i].life != RANK_RUNS)
            ended[count++] = i;
    r->lives.coordinator_host = host;
    r->lives.coordinator = COORDINATOR_MOVES;
    r->hosts[host].had_coordinator = true;
    log_info("host %s: gets the next coordinator", r->hosts[host].host->name);
    agent_channel_send_json(r->hosts[host].channel, LAUNCH_COORDINATE,
                            json_pack("{s:I, s:b, s:i, s:o}", "membership",
                                      (json_int_t)r->world.membership, "met", (int)r->lives.has_met,
                                      "count", count, "ended",
                                      host_table_write_numbers(ended, count)));
    for (int i = 0; i < count; i++)
        if (!lives_rank_is_coming(r->lives.ranks[ended[i]].life))
            rank_vacate(r, ended[i]);
    free(ended);
}

/* Another host is to come. For that one, h->reason follows the old one's name. */
static void place_open(const struct elastic_order *o, struct job_round_host *h,
                       enum elastic_reason reason)
{
    h->facts->is_coming = true;
    snprintf(h->reason, sizeof(h->reason), "was lost%s%.700s", reason == ELASTIC_NONE ? "" : ": ",
             reason == ELASTIC_NONE ? "" : o->text);
}

/* The rules have asked whether there is one; if it cannot be had all the same, nobody comes. */
static void spare_call(struct elastic_order *o, struct job_round_host *h)
{
    struct job_round *r = o->r;
    const char *why = o->event->kind == ELASTIC_HOST_LOST ? h->reason : o->text;

    o->has_spare = true;
    if (!r->config.on_host_lost(o->event->host, why, r->config.arg) || !host_arrival_set(r, h, 0))
        log_error("host %s: no other host can take its place now", h->host->name);
}

static void cut_limit_set(const struct job_round *r, int ms)
{
    const struct timeval limit = {ms / 1000, ms % 1000 * 1000};

    if (!evtimer_pending(r->world.cut_limit, NULL))
        evtimer_add(r->world.cut_limit, &limit);
}

static void host_act(struct elastic_order *o, const struct elastic_action *a)
{
    struct job_round *r = o->r;
    struct job_round_host *h = &r->hosts[a->host];

    switch (a->act) {
    case ELASTIC_BLAME_HOST:
        first_failure_lost(&r->failure, BLAME_CAUSE, h->host->name, o->text);
        break;
    case ELASTIC_TELL_GONE:
        gone_send(r, h);
        break;
    case ELASTIC_MOVE:
        coordinator_order(r, a->host);
        break;
    case ELASTIC_OPEN_PLACE:
        place_open(o, h, a->reason);
        break;
    case ELASTIC_TAKE_SPARE:
        spare_call(o, h);
        break;
    case ELASTIC_AWAIT_JOIN:
        host_arrival_set(r, h, a->ms);
        break;
    case ELASTIC_LEAVE_EMPTY:
        h->facts->is_coming = false;
        break;
    case ELASTIC_SAY_AWAITS:
        awaits_say(r, h);
        break;
    case ELASTIC_KILL:
        agent_channel_send(h->channel, LAUNCH_KILL, NULL, 0);
        break;
    case ELASTIC_CUT_LIMIT:
        cut_limit_set(r, a->ms);
        break;
    case ELASTIC_ANNOUNCE:
        host_arrival_announce(r, h);
        break;
    case ELASTIC_KEEPERS:
        round_lives_keep(r, h, "");
        break;
    default: /* ELASTIC_WAIT: COORDINATES leads here again */
        break;
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

static void rank_act(struct elastic_order *o, const struct elastic_action *a)
{
    switch (a->act) {
    case ELASTIC_REPLACE:
        rank_replace(o, a->rank, a->ms);
        break;
    case ELASTIC_AWAIT:
        rank_await(o->r, a->rank, RANK_EVENT_REPLACE);
        break;
    case ELASTIC_END:
        if (o->has_spare)
            rank_list_add(&o->unplaced, a->rank);
        round_elastic_end(o->r, a->rank);
        break;
    case ELASTIC_VACATE:
        rank_vacate(o->r, a->rank);
        break;
    case ELASTIC_LEAVE:
        leave_send(o->r, a->rank);
        break;
    default:
        break;
    }
}

static void job_act(struct elastic_order *o, const struct elastic_action *a)
{
    struct job_round *r = o->r;

    switch (a->act) {
    case ELASTIC_COUNT_DEAD:
        r->lives.dead += a->number;
        if (!r->world.dead_ms)
            r->world.dead_ms = clock_ms();
        break;
    case ELASTIC_SAY_GOES_ON:
    case ELASTIC_SAY_WENT_ON:
    case ELASTIC_SAY_UNMET:
    case ELASTIC_SAY_ENDS:
        loss_say(o, a);
        break;
    case ELASTIC_FORGET:
        r->failure = (struct first_failure){0};
        break;
    case ELASTIC_BLAME_SHRUNK:
        first_failure_shrunk(&r->failure, a->number, r->plan->where->size, r->plan->job.elastic);
        break;
    case ELASTIC_NEEDLESS:
        needless_end(r);
        break;
    case ELASTIC_END_JOB:
        job_round_phases_want_stop(r, o->signal ? o->signal : SIGTERM,
                                   o->signal ? o->grace_ms : r->plan->job.grace_ms);
        break;
    default: /* ELASTIC_ADMIT, ELASTIC_REFUSE */
        o->answer = *a;
        break;
    }
}

static void actions_carry_out(struct elastic_order *o, const struct elastic_action *actions,
                              int count)
{
    for (int i = 0; i < count; i++) {
        const struct elastic_action *a = &actions[i];

        if (a->act == ELASTIC_REFUSE)
            o->answer = *a;
        else if (a->host >= 0)
            host_act(o, a);
        else if (a->rank >= 0)
            rank_act(o, a);
        else
            job_act(o, a);
    }
}

/* Events that follow each other closely, as all ranks' ends, need no memory. */
static void order_run(struct elastic_order *o)
{
    const struct job_round *r = o->r;
    const struct elastic_job job = {job_round_state_is_running(r), r->failure.blame != BLAME_NONE};
    int room = elastic_room(&r->lives, o->event);
    struct elastic_action few[ELASTIC_FEW],
        *actions = room <= ELASTIC_FEW ? few : calloc((size_t)room, sizeof(*actions));

    if (!actions) {
        log_error("job %s ends: mlaunch is out of memory", r->identity.id);
        job_round_phases_want_stop(o->r, SIGTERM, r->plan->job.grace_ms);
        return;
    }
    actions_carry_out(o, actions, elastic_decide(&r->lives, &job, o->event, actions));
    if (actions != few)
        free(actions);
}

/* --- what has happened ------------------------------------------------------------------------ */

void round_elastic_rank(struct job_round *r, const struct exited_report *e, enum blame blame,
                        const char *text)
{
    const struct elastic_event event = {.kind = ELASTIC_RANK_ENDS,
                                        .host = r->lives.ranks[e->rank].host,
                                        .rank = e->rank,
                                        .blame = blame,
                                        .by_kill = e->signal == SIGKILL,
                                        .was_unstarted = e->error[0] != '\0',
                                        .ran_ms = e->usage.elapsed_ms};

    order_run(&(struct elastic_order){.r = r, .event = &event, .text = text});
}

static void host_order(struct job_round *r, struct elastic_event *e, const char *text)
{
    if (r->config.on_host_lost && r->plan->job.elastic)
        e->spare_room = plan_spares_offer(r->plan, elastic_wanted(&r->lives, e));
    order_run(&(struct elastic_order){.r = r, .event = e, .text = text});
}

void round_elastic_host(struct job_round *r, struct job_round_host *h, enum elastic_event_kind kind,
                        const char *text)
{
    struct elastic_event event = {.kind = kind, .host = (int)(h - r->hosts), .rank = -1};

    host_order(r, &event, text);
}

void round_elastic_give_up(struct job_round *r, struct job_round_host *h, const char *text,
                           bool is_leaving)
{
    struct elastic_event event = {.kind = ELASTIC_HOST_GIVEN_UP,
                                  .host = (int)(h - r->hosts),
                                  .rank = -1,
                                  .is_leaving = is_leaving};

    if (!lives_host_goes_on(h->facts->life))
        return;
    round_lives_host(h, HOST_EVENT_GIVE_UP);
    round_lives_write_lost(h, "lost", text);
    host_order(r, &event, text);
}

void round_elastic_fails(struct job_round *r, struct job_round_host *h, const char *text,
                         bool may_return)
{
    struct elastic_event event = {.kind = ELASTIC_HOST_FAILS,
                                  .host = (int)(h - r->hosts),
                                  .rank = -1,
                                  .may_return = may_return};
    char why[sizeof(h->reason) + 40];

    snprintf(why, sizeof(why), "did not start: %s", text);
    if (!h->facts->joins)
        round_lives_write_lost(h, "lost", text);
    else if (!may_return)
        log_warn("host %s %s", h->host->name, why);
    host_order(r, &event, why);
}

/* --- what is asked for ------------------------------------------------------------------------ */

int round_elastic_grow(const struct job_round *r, struct fault *why)
{
    const struct elastic_event event = {.kind = ELASTIC_GROW, .host = -1, .rank = -1};
    const struct elastic_job job = {job_round_state_is_running(r), r->failure.blame != BLAME_NONE};
    struct elastic_action answer[ELASTIC_FEW];

    elastic_decide(&r->lives, &job, &event, answer);
    return answer[0].act == ELASTIC_ADMIT ? 0 : elastic_refusal_set(r, &answer[0], why);
}

int round_elastic_shrink(struct job_round *r, const bool *is_asked, const char *text,
                         struct fault *why)
{
    const struct elastic_event event = {
        .kind = ELASTIC_SHRINK, .host = -1, .rank = -1, .is_asked = is_asked};
    struct elastic_order o = {.r = r, .event = &event, .text = text};

    order_run(&o);
    return o.answer.act == ELASTIC_REFUSE ? elastic_refusal_set(r, &o.answer, why) : 0;
}

void round_elastic_stop(struct job_round *r, int signal, int grace_ms)
{
    const struct elastic_event event = {.kind = ELASTIC_STOP, .host = -1, .rank = -1};

    order_run(
        &(struct elastic_order){.r = r, .event = &event, .signal = signal, .grace_ms = grace_ms});
}

/* --- the world -------------------------------------------------------------------------------- */

int round_elastic_on_unmet(struct job_round *r, struct job_round_host *h, const struct frame *f,
                           struct fault *why)
{
    const struct elastic_event event = {.kind = ELASTIC_UNMET, .host = -1, .rank = -1};

    (void)h, (void)f, (void)why;
    order_run(&(struct elastic_order){.r = r, .event = &event});
    return 0;
}

/* The members change to those. The lists for the event say by how. */
static void members_set(struct job_round *r, const struct repaired_report *repaired,
                        json_t *members, json_t *left, json_t *came)
{
    for (int i = 0, k = 0; i < r->plan->where->size; i++) {
        struct live_rank *one = &r->lives.ranks[i];
        const bool is_member = k < repaired->count && repaired->members[k] == i;

        k += is_member;
        if (is_member)
            json_array_append_new(members, json_integer(i));
        if (is_member && (lives_rank_is_coming(one->life) || one->is_left_out))
            json_array_append_new(came, json_integer(i));
        if (!is_member && !one->is_left_out)
            json_array_append_new(left, json_integer(i));
        one->is_left_out = !is_member;
    }
}

static void repaired_write(struct job_round *r, const struct repaired_report *repaired)
{
    json_t *members = json_array(), *left = json_array(), *came = json_array();
    int64_t took_ms = r->world.dead_ms ? clock_ms() - r->world.dead_ms : 0;

    r->world.dead_ms = 0;
    members_set(r, repaired, members, left, came);
    for (int i = 0; i < repaired->count; i++)
        round_lives_rank(r, repaired->members[i], RANK_EVENT_ADMIT);
    log_info("membership %lld: %d of %d ranks, after %lld ms", (long long)r->world.membership,
             repaired->count, r->plan->where->size, (long long)took_ms);
    events_file_write(r->config.events, "repaired", r->identity.id,
                      json_pack("{s:I, s:o, s:o, s:o, s:I}", "membership",
                                (json_int_t)r->world.membership, "members", members, "left", left,
                                "came", came, "ms", (json_int_t)took_ms));
}

int round_elastic_on_repaired(struct job_round *r, struct job_round_host *h, const struct frame *f,
                              struct fault *why)
{
    struct elastic_event event = {.kind = ELASTIC_REPAIRED, .host = -1, .rank = -1};
    struct repaired_report repaired;

    (void)h;
    if (repaired_report_parse(&repaired, f, r->plan->where->size, why))
        return why->code;
    r->world.generation = repaired.now.generation;
    r->world.membership = repaired.now.number;
    broken_pairs_expire(&r->world.broken, r->world.generation, r->world.membership);
    repaired_write(r, &repaired);
    event.count = repaired.count;
    free(repaired.members);
    call_log_clear(r->calls); /* calls of another world say nothing of this one's */
    order_run(&(struct elastic_order){.r = r, .event = &event});
    return 0;
}

int round_elastic_on_coordinates(struct job_round *r, struct job_round_host *h,
                                 const struct frame *f, struct fault *why)
{
    char address[sizeof(r->agreed.coordinator)];

    if (r->lives.coordinator != COORDINATOR_MOVES || h != &r->hosts[r->lives.coordinator_host])
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected COORDINATES");
    if (coordinates_report_parse(address, sizeof(address), f, why))
        return why->code;
    r->lives.coordinator = COORDINATOR_SERVES;
    /* Whoever is cut off from this one has all the time of those that are. */
    evtimer_del(r->world.cut_limit);
    for (int i = 0; i < r->plan->where->host_count; i++)
        round_lives_host(&r->hosts[i], HOST_EVENT_MEND);
    snprintf(r->agreed.coordinator, sizeof(r->agreed.coordinator), "%s", address);
    for (int i = 0; i < r->plan->where->host_count; i++)
        if (i != r->lives.coordinator_host && lives_host_runs(r->hosts[i].facts->life))
            agent_channel_send(r->hosts[i].channel, LAUNCH_MOVED, address, strlen(address));
    events_file_write(r->config.events, "coordinator", r->identity.id,
                      json_pack("{s:s, s:s}", "host", h->host->name, "address", address));
    for (int i = 0; i < r->plan->where->host_count; i++)
        if (r->hosts[i].facts->is_coming && r->hosts[i].facts->life == HOST_PREPARED)
            round_elastic_host(r, &r->hosts[i], ELASTIC_HOST_READY, NULL);
    host_arrival_start(r); /* those that have been announced */
    return 0;
}

int round_elastic_members(const struct job_round *r)
{
    int count = 0;

    for (int i = 0; i < r->plan->where->size; i++)
        count += !r->lives.ranks[i].is_left_out;
    return count;
}

void round_elastic_report(const struct job_round *r)
{
    const int members = round_elastic_members(r);
    struct rank_list left = {0};

    if (r->world.membership == 0 || members == r->plan->where->size)
        return;
    for (int i = 0; i < r->plan->where->size; i++)
        if (r->lives.ranks[i].is_left_out)
            rank_list_add(&left, i);
    output_say(r->config.output, "the job has ended well with %d of %d ranks, without %s", members,
               r->plan->where->size, rank_list_end(&left));
}
