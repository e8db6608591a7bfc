/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round_hosts.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/host_table.h"
#include "common/net/wiring_table.h"
#include "common/status.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/input/plan/topology_stated.h"
#include "launcher/run/hosts/keeper_order.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/round/job_round_losses.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 1000, /* until a host that has joined again, and failed, is tried once more */
};

static bool is_on(const struct job_round *r, int rank, const struct job_round_member *m)
{
    return &r->members[r->plan->ranks[rank].host] == m;
}

/* --- the coordinator -------------------------------------------------------------------------- */

/* The coordinator's host is lost: another one whose ranks run gets an empty one, to which the ranks
 * come in ml_repair. Nothing has to be handed over, for mlaunch knows who lives. */
static void coordinator_move(struct job_round *r)
{
    int *ended = calloc((size_t)r->plan->size, sizeof(*ended)), count = 0, host = -1;

    for (int i = 0; ended && i < r->plan->size; i++) {
        if (r->ranks[i].ended || r->ranks[i].is_coming || r->ranks[i].is_leaving)
            ended[count++] = i;
        else if (host < 0 && r->members[r->plan->ranks[i].host].state == MEMBER_STARTED)
            host = r->plan->ranks[i].host;
    }
    if (host >= 0) {
        r->coordinator_host = host;
        r->members[host].had_coordinator = true;
        r->is_moving = true;
        log_info("host %s: gets the next coordinator", r->members[host].host->name);
        agent_channel_send_json(r->members[host].channel, LAUNCH_COORDINATE,
                                json_pack("{s:I, s:i, s:o}", "membership",
                                          (json_int_t)r->membership, "count", count, "ended",
                                          host_table_write_numbers(ended, count)));
        for (int i = 0; i < count; i++)
            if (r->ranks[ended[i]].ended || r->ranks[ended[i]].is_leaving)
                job_round_losses_vacate(r, ended[i]);
    }
    free(ended);
}

static void gone_send(struct job_round *r, const struct job_round_member *m)
{
    const struct job_round_member *coordinator = &r->members[r->coordinator_host];
    const uint32_t words[] = {(uint32_t)(m - r->members), (uint32_t)m->placed};

    if (m != coordinator && coordinator->state < MEMBER_GONE)
        agent_channel_send_words(coordinator->channel, LAUNCH_GONE, words, 2);
}

void job_round_hosts_keep(struct job_round *r, const struct job_round_member *m,
                          const char *address)
{
    char text[KEEPERS_TEXT];
    struct fault why;

    if (r->plan->job.keep < 2)
        return;
    if (keeper_order_set(&r->keepers, (int)(m - r->members), address, &why))
        log_warn("%s", why.text); /* its copies are lost */
    for (int i = 0; i < r->plan->host_count; i++)
        if (r->members[i].state == MEMBER_STARTED && keeper_order_find(r->keepers, i, text))
            agent_channel_send(r->members[i].channel, LAUNCH_KEEPER, text, strlen(text));
}

void job_round_hosts_done(struct job_round *r, struct job_round_member *m)
{
    if (r->is_moving && m == &r->members[r->coordinator_host])
        coordinator_move(r);
    /* The coordinator has not heard from its agent that its ranks have ended. */
    if (m->is_cut_off)
        gone_send(r, m);
    m->is_cut_off = false;
    job_round_hosts_keep(r, m, "");
}

/* --- the places of a lost host ---------------------------------------------------------------- */

/* The places may be filled: another host can be asked, and newcomers can join somebody. */
static bool has_successor(const struct job_round *r, const struct job_round_member *m)
{
    const struct job_options *o = &r->plan->job;
    bool has_company = false;

    for (int i = 0; i < r->plan->size; i++)
        has_company |= !is_on(r, i, m) && !r->ranks[i].ended && !r->ranks[i].is_coming;
    return o->elastic && o->restarts && has_company && job_round_state_is_running(r) &&
           (m->host->launch_method == LAUNCH_METHOD_JOIN || r->plan->spares_left > 0);
}

/* The ranks that come to this host. Returns how many there are. */
static int coming_list(const struct job_round *r, const struct job_round_member *m,
                       struct rank_list *list)
{
    for (int i = 0; i < r->plan->size; i++)
        if (is_on(r, i, m) && !r->ranks[i].ended)
            rank_list_add(list, i);
    return list->count;
}

static void vacate_all(struct job_round *r, const struct job_round_member *m)
{
    for (int i = 0; i < r->plan->size; i++)
        if (is_on(r, i, m) && r->ranks[i].ended)
            job_round_losses_vacate(r, i);
}

/* The end of the sentence about a host whose place nobody takes. */
static const char *spares_end(const struct job_round *r, bool are_asked)
{
    const struct plan *p = r->plan;

    return p->job.restarts && p->spare_count && (are_asked || p->spares_left == 0)
               ? ", and no spare host is left"
               : "";
}

/* Nobody takes the places. */
static void places_leave(struct job_round *r, struct job_round_member *m, const char *why)
{
    char sentence[sizeof(m->reason) + 300];
    bool are_left_out = true;
    int count = 0;

    m->is_arriving = false;
    m->failed = false;
    for (int i = 0; i < r->plan->size; i++) {
        if (!is_on(r, i, m) || r->ranks[i].ended)
            continue;
        are_left_out &= r->ranks[i].is_left_out;
        count++;
        job_round_losses_end(r, i);
    }
    vacate_all(r, m);
    snprintf(sentence, sizeof(sentence), "host %s %s%s", m->host->name, why, spares_end(r, true));
    if (count > 0)
        job_round_losses_die(r, count, sentence, are_left_out);
    job_round_losses_end_coming(r);
}

static void on_arrival(evutil_socket_t fd, short what, void *arg)
{
    struct job_round_member *m = arg;

    (void)fd, (void)what;
    job_round_hosts_open(m->round, (int)(m - m->round->members));
    job_round_phases_advance(m->round);
}

/* Opens a channel soon: the one that has ended is closed then, outside of its own callbacks. */
static void arrival_set(struct job_round *r, struct job_round_member *m, int ms)
{
    const struct timeval time = {ms / 1000, ms % 1000 * 1000};

    m->host = plan_host(r->plan, (int)(m - r->members));
    m->state = MEMBER_OPENING;
    m->failed = false;
    if (!m->arrival)
        m->arrival = evtimer_new(r->config.base, on_arrival, m);
    if (m->arrival && evtimer_add(m->arrival, &time) == 0)
        return;
    m->state = MEMBER_GONE;
    places_leave(r, m, "cannot be replaced: out of memory");
}

/* The new host of the place has too few slots. */
static void places_trim(struct job_round *r, const struct job_round_member *m)
{
    const int host = (int)(m - r->members);
    int room = plan_spares_room(r->plan, host);
    struct rank_list list = {0};
    bool are_left_out = true;
    char text[sizeof(m->reason)];

    for (int i = 0; i < r->plan->size; i++) {
        if (!is_on(r, i, m) || r->ranks[i].ended || room-- > 0)
            continue;
        are_left_out &= r->ranks[i].is_left_out;
        rank_list_add(&list, i);
        job_round_losses_end(r, i);
        job_round_losses_vacate(r, i);
    }
    if (list.count == 0)
        return;
    snprintf(text, sizeof(text), "host %.300s has no slot for %s", plan_host(r->plan, host)->name,
             rank_list_end(&list));
    job_round_losses_die(r, list.count, text, are_left_out);
}

/* why: what follows the host's name in a sentence. */
static void places_give(struct job_round *r, struct job_round_member *m, const char *why)
{
    int host = (int)(m - r->members);

    if (m->host->launch_method == LAUNCH_METHOD_JOIN) {
        arrival_set(r, m, 0);
    } else if (r->plan->job.restarts && r->config.on_host_lost &&
               r->config.on_host_lost(host, why, r->config.arg)) {
        places_trim(r, m);
        arrival_set(r, m, 0);
    } else {
        places_leave(r, m, why);
    }
}

/* Whoever is not awaited at a lost host's places has ended. Returns how many have. */
static int ranks_lose(struct job_round *r, const struct job_round_member *m, bool *are_left_out)
{
    bool is_kept = has_successor(r, m);
    int count = 0;

    *are_left_out = true;
    for (int i = 0; i < r->plan->size; i++) {
        struct job_round_rank *one = &r->ranks[i];

        if (!is_on(r, i, m) || one->ended)
            continue;
        if (is_kept && !one->is_leaving && one->restarts < r->plan->job.restarts) {
            job_round_losses_await(r, i);
            continue;
        }
        *are_left_out &= one->is_left_out || one->is_leaving;
        count += !one->is_leaving; /* otherwise it has been counted */
        job_round_losses_end(r, i);
    }
    return count;
}

static void wait_say(const struct job_round *r, const struct job_round_member *m)
{
    struct rank_list list = {0};

    coming_list(r, m, &list);
    output_say(r->config.output,
               "host %s %s; a host that joins with --index %d takes its place (%s)", m->host->name,
               m->reason, m->host->join_index, rank_list_end(&list));
}

void job_round_hosts_lose(struct job_round *r, struct job_round_member *m, const char *text)
{
    const uint32_t host = (uint32_t)(m - r->members);
    char sentence[sizeof(m->reason) + 300];
    struct rank_list list = {0};
    bool are_left_out;
    int count = ranks_lose(r, m, &are_left_out);

    if (r->survey)
        topology_survey_lose(r->survey, (int)host);
    snprintf(sentence, sizeof(sentence), "host %s was lost: %s%s", m->host->name, text,
             spares_end(r, false));
    m->is_arriving = coming_list(r, m, &list) > 0;
    if (count > 0 || m->is_arriving)
        first_failure_lost(&r->failure, BLAME_CAUSE, m->host->name, text);
    if (count > 0)
        job_round_losses_die(r, count, sentence, are_left_out);
    if (r->stop_wanted)
        return;
    if ((int)host != r->coordinator_host)
        gone_send(r, m);
    else if (job_round_phases_outlives(r))
        coordinator_move(r);
    if ((int)host != r->coordinator_host)
        vacate_all(r, m);
    if (m->is_arriving) {
        snprintf(m->reason, sizeof(m->reason), "was lost%s%.700s", count > 0 ? "" : ": ",
                 count > 0 ? "" : text); /* which has been said */
        if (m->host->launch_method == LAUNCH_METHOD_JOIN)
            wait_say(r, m);
        if (m->state == MEMBER_GONE) /* else once its agent has ended what is there */
            places_give(r, m, m->reason);
    }
    job_round_losses_end_coming(r);
}

void job_round_hosts_give_up(struct job_round *r, struct job_round_member *m, const char *text,
                             bool is_leaving)
{
    if (m->is_arriving)
        return; /* it was given up before */
    job_round_hosts_keep(r, m, "");
    events_file_write(r->config.events, "lost", r->identity.id,
                      json_pack("{s:s, s:o}", "host", m->host->name, "text", text_json(text)));
    job_round_hosts_lose(r, m, text);
    if (!is_leaving)
        agent_channel_send(m->channel, LAUNCH_KILL, NULL, 0);
}

/* The coordinator's host lives: these are cut off from it. While the coordinator moves it is lost
 * itself, and COORDINATES, or the loss of the host that is to send it, follows. */
void job_round_hosts_on_cut_limit(evutil_socket_t fd, short what, void *arg)
{
    static const char text[] = "it is cut off from the host of the coordinator";
    struct job_round *r = arg;

    (void)fd, (void)what;
    for (int i = 0; i < r->plan->host_count && !r->is_moving; i++) {
        struct job_round_member *m = &r->members[i];

        if (!m->is_cut_off || m->state != MEMBER_STARTED || r->state != JOB_ROUND_RUNNING)
            continue;
        m->is_cut_off = false;
        job_round_hosts_give_up(r, m, text, false);
    }
    job_round_phases_advance(r);
}

void job_round_hosts_cut_off(struct job_round *r, struct job_round_member *m,
                             const struct lost_report *lost)
{
    const struct timeval limit = FAILURE_TIMEVAL(HOST_LOST_MS);

    log_info("host %s: %s", m->host->name, lost->text);
    if (strcmp(lost->coordinator, r->coordinator) != 0)
        return; /* MOVED, which leads it to the next one, has crossed this */
    first_failure_lost(&r->failure, BLAME_CUT_OFF, m->host->name, lost->text);
    m->is_cut_off = true;
    if (!evtimer_pending(r->cut_limit, NULL))
        evtimer_add(r->cut_limit, &limit);
}

/* --- hosts that do not reach each other ------------------------------------------------------- */

/* Neither rank has ended since, nor its host been lost, by which the other would go on. */
static bool is_broken(const struct job_round *r, const struct broken_pair *p)
{
    const int ranks[] = {p->rank, p->peer};

    for (int i = 0; i < 2; i++) {
        const struct job_round_member *m = &r->members[p->hosts[i]];
        const struct job_round_rank *one = &r->ranks[ranks[i]];

        if (m->state != MEMBER_STARTED || m->is_arriving || one->ended || one->is_coming ||
            one->is_leaving)
            return false;
    }
    return true;
}

static int broken_choose(const struct job_round *r)
{
    int *ranks = calloc((size_t)r->plan->host_count, sizeof(*ranks)), host = -1;

    for (int i = 0; ranks && i < r->plan->size; i++)
        ranks[r->plan->ranks[i].host] += !r->ranks[i].ended;
    if (ranks)
        host = broken_pairs_choose(&r->broken, ranks, r->plan->host_count);
    free(ranks);
    return host;
}

static void broken_prune(struct job_round *r)
{
    for (int i = r->broken.count - 1; i >= 0; i--)
        if (!is_broken(r, &r->broken.pairs[i]))
            broken_pairs_remove(&r->broken, i);
}

/* When the first of the pairs is to be parted, clock_ms(). */
static int64_t broken_due(const struct job_round *r)
{
    int64_t due_ms = INT64_MAX;

    for (int i = 0; i < r->broken.count; i++)
        if (r->broken.pairs[i].said_ms + HOST_LOST_MS < due_ms)
            due_ms = r->broken.pairs[i].said_ms + HOST_LOST_MS;
    return due_ms;
}

/* One host is given up, so that those go on that do not reach it. Its pairs are gone then. */
static void broken_give_up(struct job_round *r)
{
    const struct broken_pair *p = r->broken.pairs;
    char text[sizeof(r->members->reason)];
    int host = broken_choose(r), other;

    if (host < 0) {
        broken_pairs_clear(&r->broken);
        return;
    }
    while (p->hosts[0] != host && p->hosts[1] != host)
        p++;
    other = p->hosts[0] == host ? p->hosts[1] : p->hosts[0];
    snprintf(text, sizeof(text),
             "ranks there and on host %.200s do not reach each other, although mlaunch reaches "
             "both hosts: %.400s",
             r->members[other].host->name, p->text);
    job_round_hosts_give_up(r, &r->members[host], text, false);
    broken_prune(r);
}

static void broken_await(struct job_round *r)
{
    int left_ms = clock_left_ms(broken_due(r));
    const struct timeval time = {left_ms / 1000, left_ms % 1000 * 1000};

    if (r->broken.count > 0)
        evtimer_add(r->broken_limit, &time);
}

void job_round_hosts_on_broken_limit(evutil_socket_t fd, short what, void *arg)
{
    struct job_round *r = arg;

    (void)fd, (void)what;
    broken_prune(r);
    while (job_round_state_is_running(r) && broken_due(r) <= clock_ms())
        broken_give_up(r);
    if (job_round_state_is_running(r))
        broken_await(r);
    job_round_phases_advance(r);
}

int job_round_hosts_on_unreached(struct job_round *r, struct job_round_member *m,
                                 const struct frame *f, struct fault *why)
{
    struct unreached_report u;
    struct broken_pair p;

    if (unreached_report_parse(&u, f, r->plan->size, why))
        return why->code;
    p = (struct broken_pair){.rank = u.rank,
                             .peer = u.peer,
                             .hosts = {r->plan->ranks[u.rank].host, r->plan->ranks[u.peer].host},
                             .said_ms = clock_ms(),
                             .generation = u.of.generation,
                             .membership = u.of.number,
                             .text = u.text};
    if (m != &r->members[p.hosts[0]] && !m->had_coordinator)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent UNREACHED of another host's rank");
    if (broken_pairs_is_past(&p, r->generation, r->membership))
        return 0; /* they have been repaired since */
    if (r->plan->job.elastic && p.hosts[0] != p.hosts[1] && is_broken(r, &p)) {
        log_info("%s", u.text);
        broken_pairs_add(&r->broken, &p);
        if (!evtimer_pending(r->broken_limit, NULL))
            broken_await(r);
    }
    return 0;
}

/* --- a host that comes ------------------------------------------------------------------------ */

/* What the processes before have written is whole; others write to the same streams. */
static void streams_end(struct job_round *r, int host)
{
    for (int i = 0; i < r->plan->size; i++)
        for (int k = 0; k < 2 && r->plan->ranks[i].host == host && !r->ranks[i].ended; k++) {
            if (!r->ranks[i].is_closed[k])
                output_write(r->config.output, host, i, k + 1, NULL, 0);
            r->ranks[i].is_closed[k] = true;
        }
}

void job_round_hosts_expect(struct job_round *r, struct job_round_member *m,
                            const struct host *host, int placed)
{
    file_feed_destroy(m->feed);
    env_copy_close(m->copy);
    free(m->advice);
    *m = (struct job_round_member){.round = r,
                                   .host = host,
                                   .state = MEMBER_OPENING,
                                   .is_arriving = true,
                                   .placed = placed,
                                   .arrival = m->arrival,
                                   .again = m->again,
                                   .status = STATUS_OURS};
}

void job_round_hosts_open(struct job_round *r, int host)
{
    struct job_round_member *m = &r->members[host];

    if (!job_round_state_is_running(r)) {
        m->state = MEMBER_GONE;
        return;
    }
    streams_end(r, host);
    job_round_hosts_expect(r, m, plan_host(r->plan, host), m->placed + 1);
    m->channel = agent_session_reach(r->session, host, m->host);
}

bool job_round_hosts_know(const struct job_round *r, int rank)
{
    for (int i = 0; i < r->plan->host_count; i++) {
        const struct job_round_member *m = &r->members[i];

        if (job_round_member_is_there(m) && m->ranks_known <= rank)
            return false;
    }
    return true;
}

void job_round_hosts_tell(struct job_round *r, struct job_round_member *to, int host,
                          json_t *wiring)
{
    const struct job_round_member *m = &r->members[host];

    agent_channel_send_json(to->channel, LAUNCH_PLACED,
                            json_pack("{s:i, s:s, s:s, s:O*}", "host", host, "name", m->host->name,
                                      "address", m->host->ips[0] ? m->host->ips[0] : m->address,
                                      "wiring", wiring));
}

/* What the host's RDMA devices are. Those of the others were tried when the job began. */
static void on_devices(json_t *said, void *arg)
{
    struct job_round_member *m = arg;
    struct job_round *r = said ? m->round : NULL;
    const int host = said ? (int)(m - r->members) : -1;
    struct fault why;
    int rc;

    if (!said || m->state != MEMBER_CONNECTED || m->failed)
        return;
    rc = agent_session_check_error(said, &why);
    if (!rc)
        rc = topology_survey_admit(r->survey, host, said, &why);
    if (!rc)
        rc = job_round_steps_prepare_host(r, host, &why);
    if (rc)
        agent_channel_fail(m->channel, why.text);
}

/* The host has its copy of --stage-env. */
static void on_copied(uint64_t lost, void *arg)
{
    struct job_round_member *m = arg;
    struct job_round *r = m->round;

    if (m->state != MEMBER_CONNECTED || m->failed)
        return;
    if (lost > 0) {
        agent_channel_fail(
            m->channel, "--stage-env: files have changed there since the job began, or cannot be "
                        "read, so that it would have another copy than the other hosts");
        return;
    }
    env_copy_report(m->copy, (int)(m - r->members));
    agent_channel_send(m->channel, LAUNCH_STAGED, NULL, 0);
    job_round_steps_await_ready(r);
}

int job_round_hosts_copy(struct job_round *r, struct job_round_member *m, struct fault *why)
{
    return r->copy
               ? env_copy_open_later(&m->copy, r->copy, (int)(m - r->members), on_copied, m, why)
               : 0;
}

int job_round_hosts_on_hello(struct job_round *r, struct job_round_member *m, struct fault *why)
{
    int host = (int)(m - r->members);

    if (job_round_hosts_copy(r, m, why))
        return why->code;
    /* One that joins again has the place that it had. */
    if (r->wiring && m->host->launch_method != LAUNCH_METHOD_JOIN)
        topology_stated_move(r->wiring, r->plan, host);
    if (!r->survey)
        return job_round_steps_prepare_host(r, host, why);
    r->names[host] = m->host->name;
    topology_survey_lose(r->survey, host); /* what another one has said that came here */
    topology_survey_restate(r->survey, r->wiring);
    agent_session_ask_for(r->session, host,
                          topology_survey_question(r->survey, host, TOPOLOGY_DESCRIBE), on_devices,
                          m);
    job_round_steps_await_ready(r);
    return 0;
}

static bool is_known(const struct job_round *r, const struct job_round_member *m)
{
    for (int i = 0; i < r->plan->size; i++)
        if (is_on(r, i, m) && r->ranks[i].is_unstarted && !job_round_hosts_know(r, i))
            return false;
    return true;
}

/* Starts the ranks of hosts that have come, once all that have a say know of these hosts, and there
 * is a coordinator. */
void job_round_hosts_start(struct job_round *r)
{
    for (int i = 0; i < r->plan->host_count; i++) {
        const struct job_round_member *m = &r->members[i];

        if (m->unwired > 0 && (m->state == MEMBER_PREPARED || m->state == MEMBER_STARTED))
            return;
    }
    for (int i = 0; i < r->plan->host_count; i++) {
        struct job_round_member *m = &r->members[i];

        if (!m->is_announced || m->state != MEMBER_PREPARED || r->is_moving || r->stop_wanted ||
            !is_known(r, m))
            continue;
        log_info("host %s: its ranks are started, and wait for ml_repair", m->host->name);
        for (int k = 0; k < r->plan->size; k++)
            r->ranks[k].is_unstarted &= !is_on(r, k, m);
        job_round_steps_start_host(r, i);
        m->is_arriving = m->is_announced = false;
    }
}

/* Says to the others who has come, and with which wiring to all of them. */
static void arrival_announce(struct job_round *r, struct job_round_member *m)
{
    json_t *wiring = r->wiring ? wiring_table_write(r->wiring) : NULL;

    if (r->wiring && !wiring) {
        agent_channel_fail(m->channel, "mlaunch is out of memory");
        return;
    }
    m->is_announced = r->has_placed = true;
    /* All are awaited before the first is told: a send may find the end of its channel. */
    for (int i = 0; i < r->plan->host_count && wiring; i++)
        if (r->members[i].state == MEMBER_STARTED || &r->members[i] == m)
            r->members[i].unwired++;
    for (int i = 0; i < r->plan->host_count; i++) {
        struct job_round_member *other = &r->members[i];

        if (job_round_member_is_there(other) || (other == m && wiring))
            job_round_hosts_tell(r, other, (int)(m - r->members), wiring);
    }
    json_decref(wiring);
}

void job_round_hosts_on_ready(struct job_round *r, struct job_round_member *m)
{
    if (r->is_moving)
        return; /* COORDINATES leads here again */
    if (!m->is_announced)
        arrival_announce(r, m);
    job_round_hosts_start(r);
}

int job_round_hosts_on_wired(struct job_round *r, struct job_round_member *m, const struct frame *f,
                             struct fault *why)
{
    (void)f;
    if (m->unwired == 0 && m->state != MEMBER_DONE)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected WIRED");
    m->unwired -= m->unwired > 0;
    job_round_hosts_start(r);
    return 0;
}

/* It is still away: no host has joined with its index for --init-timeout. */
static bool is_still_away(const struct job_round_member *m, enum job_round_member_state before)
{
    return before == MEMBER_OPENING && m->channel && !m->failed &&
           agent_channel_outlook(m->channel) == CHANNEL_MAY_RETURN;
}

void job_round_hosts_on_end(struct job_round *r, struct job_round_member *m,
                            enum job_round_member_state before, const char *text)
{
    char why[sizeof(m->reason) + 40];

    env_copy_lose(m->copy, (int)(m - r->members));
    snprintf(why, sizeof(why), "did not start: %s", m->failed ? m->reason : text);
    if (before >= MEMBER_STARTED) {
        snprintf(why, sizeof(why), "%s", m->reason);
        places_give(r, m, why);
    } else if (m->host->launch_method != LAUNCH_METHOD_JOIN) {
        events_file_write(r->config.events, "lost", r->identity.id,
                          json_pack("{s:s, s:o}", "host", m->host->name, "text", text_json(text)));
        places_give(r, m, why);
    } else if (is_still_away(m, before)) {
        arrival_set(r, m, 0);
    } else {
        log_warn("host %s %s", m->host->name, why);
        arrival_set(r, m, AGAIN_MS);
    }
}

int job_round_hosts_on_coordinates(struct job_round *r, struct job_round_member *m,
                                   const struct frame *f, struct fault *why)
{
    char address[sizeof(r->coordinator)];

    if (!r->is_moving || m != &r->members[r->coordinator_host])
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected COORDINATES");
    if (coordinates_report_parse(address, sizeof(address), f, why))
        return why->code;
    r->is_moving = false;
    /* Whoever is cut off from this one has all the time of those that are. */
    evtimer_del(r->cut_limit);
    for (int i = 0; i < r->plan->host_count; i++)
        r->members[i].is_cut_off = false;
    snprintf(r->coordinator, sizeof(r->coordinator), "%s", address);
    for (int i = 0; i < r->plan->host_count; i++)
        if (i != r->coordinator_host && r->members[i].state == MEMBER_STARTED)
            agent_channel_send(r->members[i].channel, LAUNCH_MOVED, address, strlen(address));
    events_file_write(r->config.events, "coordinator", r->identity.id,
                      json_pack("{s:s, s:s}", "host", m->host->name, "address", address));
    for (int i = 0; i < r->plan->host_count; i++)
        if (r->members[i].is_arriving && r->members[i].state == MEMBER_PREPARED)
            job_round_hosts_on_ready(r, &r->members[i]);
    return 0;
}
