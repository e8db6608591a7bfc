/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/host_reach.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/round_elastic.h"
#include "launcher/run/state/round_lives.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The coordinator's host lives: these are cut off from it. While the coordinator moves it is lost
 * itself, and COORDINATES, or the loss of the host that is to send it, follows. */
void host_reach_on_cut_limit(evutil_socket_t fd, short what, void *arg)
{
    static const char text[] = "it is cut off from the host of the coordinator";
    struct job_round *r = arg;

    (void)fd, (void)what;
    for (int i = 0; i < r->plan->where->host_count; i++)
        if (r->hosts[i].facts->life == HOST_CUT_OFF && r->state == JOB_ROUND_RUNNING &&
            r->lives.coordinator != COORDINATOR_MOVES)
            round_elastic_give_up(r, &r->hosts[i], text, false);
    job_round_phases_advance(r);
}

void host_reach_cut_off(struct job_round *r, struct job_round_host *h,
                        const struct lost_report *lost)
{
    log_info("host %s: %s", h->host->name, lost->text);
    if (strcmp(lost->coordinator, r->agreed.coordinator) != 0)
        return; /* MOVED, which leads it to the next one, has crossed this */
    first_failure_lost(&r->failure, BLAME_CUT_OFF, h->host->name, lost->text);
    round_lives_host(h, HOST_EVENT_CUT);
    round_elastic_host(r, h, ELASTIC_HOST_SILENT, NULL);
}

/* --- hosts that do not reach each other ------------------------------------------------------- */

/* Neither rank has ended since, nor its host been lost, by which the other would go on. */
static bool is_broken(const struct job_round *r, const struct broken_pair *p)
{
    const int ranks[] = {p->rank, p->peer};

    for (int i = 0; i < 2; i++) {
        if (!lives_host_goes_on(r->lives.hosts[p->hosts[i]].life) ||
            r->lives.ranks[ranks[i]].life != RANK_RUNS)
            return false;
    }
    return true;
}

static int broken_choose(const struct job_round *r)
{
    int *ranks = calloc((size_t)r->plan->where->host_count, sizeof(*ranks)), host = -1;

    for (int i = 0; ranks && i < r->plan->where->size; i++)
        ranks[r->lives.ranks[i].host] += r->lives.ranks[i].life != RANK_OVER;
    if (ranks)
        host = broken_pairs_choose(&r->world.broken, ranks, r->plan->where->host_count);
    free(ranks);
    return host;
}

static void broken_prune(struct job_round *r)
{
    for (int i = r->world.broken.count - 1; i >= 0; i--)
        if (!is_broken(r, &r->world.broken.pairs[i]))
            broken_pairs_remove(&r->world.broken, i);
}

/* When the first of the pairs is to be parted, clock_ms(). */
static int64_t broken_due(const struct job_round *r)
{
    int64_t due_ms = INT64_MAX;

    for (int i = 0; i < r->world.broken.count; i++)
        if (r->world.broken.pairs[i].said_ms + HOST_LOST_MS < due_ms)
            due_ms = r->world.broken.pairs[i].said_ms + HOST_LOST_MS;
    return due_ms;
}

/* One host is given up, so that those go on that do not reach it. Its pairs are gone then. */
static void broken_give_up(struct job_round *r)
{
    const struct broken_pair *p = r->world.broken.pairs;
    char text[sizeof(r->hosts->reason)];
    int host = broken_choose(r), other;

    if (host < 0) {
        broken_pairs_clear(&r->world.broken);
        return;
    }
    while (p->hosts[0] != host && p->hosts[1] != host)
        p++;
    other = p->hosts[0] == host ? p->hosts[1] : p->hosts[0];
    snprintf(text, sizeof(text),
             "ranks there and on host %.200s do not reach each other, although mlaunch reaches "
             "both hosts: %.400s",
             r->hosts[other].host->name, p->text);
    round_elastic_give_up(r, &r->hosts[host], text, false);
    broken_prune(r);
}

static void broken_await(struct job_round *r)
{
    int left_ms = clock_left_ms(broken_due(r));
    const struct timeval time = {left_ms / 1000, left_ms % 1000 * 1000};

    if (r->world.broken.count > 0)
        evtimer_add(r->world.broken_limit, &time);
}

void host_reach_on_broken_limit(evutil_socket_t fd, short what, void *arg)
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

int host_reach_on_unreached(struct job_round *r, struct job_round_host *h, const struct frame *f,
                            struct fault *why)
{
    struct unreached_report u;
    struct broken_pair p;

    if (unreached_report_parse(&u, f, r->plan->where->size, why))
        return why->code;
    p = (struct broken_pair){.rank = u.rank,
                             .peer = u.peer,
                             .hosts = {r->lives.ranks[u.rank].host, r->lives.ranks[u.peer].host},
                             .said_ms = clock_ms(),
                             .generation = u.of.generation,
                             .membership = u.of.number,
                             .text = u.text};
    if (h != &r->hosts[p.hosts[0]] && !h->had_coordinator)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent UNREACHED of another host's rank");
    if (broken_pairs_is_past(&p, r->world.generation, r->world.membership))
        return 0; /* they have been repaired since */
    if (r->plan->job.elastic && p.hosts[0] != p.hosts[1] && is_broken(r, &p)) {
        log_info("%s", u.text);
        broken_pairs_add(&r->world.broken, &p);
        if (!evtimer_pending(r->world.broken_limit, NULL))
            broken_await(r);
    }
    return 0;
}
