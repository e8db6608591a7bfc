/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/spare_hosts.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/rank_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON = 1024 };

/* Adds the ranks on host `index` to the list; with a round those that come. Returns them as an
 * array, the caller's. */
static json_t *ranks_gather(const struct spare_hosts *s, const struct job_round *round, int index,
                            struct rank_list *list)
{
    json_t *ranks = json_array();
    int room = plan_spares_room(s->plan, index);

    for (int r = 0; r < s->plan->where->size && list->count < room; r++) {
        if (s->plan->where->ranks[r].host == index && (!round || job_round_rank_comes(round, r))) {
            rank_list_add(list, r);
            json_array_append_new(ranks, json_integer(r));
        }
    }
    return ranks;
}

static int coming_count(const struct spare_hosts *s, const struct job_round *round, int index)
{
    int count = 0;

    for (int r = 0; r < s->plan->where->size; r++)
        count += s->plan->where->ranks[r].host == index && job_round_rank_comes(round, r);
    return count;
}

/* Lets a spare host take the place of host `index`. round: NULL, or that runs. `why` follows the
 * host's name, `after` ends the sentence. False: there is none. While others run, one with too few
 * slots takes a part of the ranks. */
static bool host_replace(struct spare_hosts *s, const struct job_round *round, int index,
                         const char *why, const char *after)
{
    const char *old = plan_host(s->plan, index)->name, *spare;
    struct rank_list list = {0};
    json_t *ranks;

    if (!(round && plan_spares_take(s->plan, index, coming_count(s, round, index))) &&
        !plan_spares_take(s->plan, index, round ? 1 : 0))
        return false;
    ranks = ranks_gather(s, round, index, &list);
    s->newcomer = index;
    spare = plan_host(s->plan, index)->name;
    output_say(s->output, "host %s %s; spare host %s takes its place (%s)%s", old, why, spare,
               rank_list_end(&list), after);
    events_file_write(s->events, "replaced", s->job,
                      json_pack("{ss ss so so}", "host", old, "spare", spare, "moved", ranks, "why",
                                text_json(why)));
    return true;
}

/* --- after a loss ----------------------------------------------------------------------------- */

static bool lost_replace(struct spare_hosts *s, int index)
{
    struct rank_list list = {0};

    if (host_replace(s, NULL, index, "was lost", ""))
        return true;
    json_decref(ranks_gather(s, NULL, index, &list));
    output_say(s->output, "no other spare host can take the place of host %s (%s)",
               plan_host(s->plan, index)->name, rank_list_end(&list));
    return false;
}

bool spare_hosts_replace_lost(struct spare_hosts *s, const struct job_round *round,
                              const struct job_round_result *result)
{
    int failed = 0, replaced = 0;

    /* The old hosts have reached each other before. */
    if (result->topology_failed && s->newcomer >= 0)
        return lost_replace(s, s->newcomer);
    for (int i = 0; i < s->plan->where->host_count && s->plan->where->spare_count > 0; i++) {
        if (job_round_host_failed(round, i)) {
            failed++;
            replaced += lost_replace(s, i);
        }
    }
    return failed > 0 && replaced == failed;
}

bool spare_hosts_replace(struct spare_hosts *s, const struct job_round *round, int index,
                         const char *why)
{
    return host_replace(s, round, index, why, "");
}

/* --- before a start --------------------------------------------------------------------------- */

/* The hosts as they were before any was replaced: by index in plan.hosts. */
static bool unfit_mark(struct spare_hosts *s, const json_t *unfit, const json_t **found)
{
    struct plan *p = s->plan;
    int count = p->where->host_count + p->where->spare_count;
    json_t *one;
    size_t k;

    if (!p->where->is_unfit)
        p->where->is_unfit = calloc((size_t)p->list->room, sizeof(*p->where->is_unfit));
    if (!p->where->is_unfit)
        return false;
    memset(p->where->is_unfit, 0, (size_t)p->list->count * sizeof(*p->where->is_unfit));
    json_array_foreach(unfit, k, one)
    {
        long long host = object_field_whole(one, "host");

        if (host < 0 || host >= count)
            continue;
        found[host] = one;
        p->where->is_unfit[p->where->hosts[host]] = true;
    }
    return true;
}

/* False: the job cannot run on it. */
static bool unfit_settle(struct spare_hosts *s, int index, const json_t *found, const char *cost)
{
    bool is_slow = json_is_true(json_object_get(found, "is_slow"));
    char why[REASON];

    snprintf(why, sizeof(why), "is %s: %.900s", is_slow ? "slow" : "not fit",
             object_field_text(found, "text"));
    printable_mend(why, "");
    if (host_replace(s, NULL, index, why, cost) || json_is_true(json_object_get(found, "is_lost")))
        return true;
    if (is_slow)
        log_warn("host %s %s; no spare host can take its place (--check)",
                 plan_host(s->plan, index)->name, why);
    else
        log_error("host %s %s; no spare host can take its place (--check)",
                  plan_host(s->plan, index)->name, why);
    return is_slow;
}

static void check_write(const struct spare_hosts *s, const json_t *unfit, int64_t took_ms)
{
    json_t *list = json_array(), *one, *said;
    size_t k;

    json_array_foreach(unfit, k, one)
    {
        const struct host *h = plan_host(s->plan, (int)object_field_whole(one, "host"));

        said = json_pack("{so sO sO}", "host", text_json(h->name), "slow",
                         json_object_get(one, "is_slow"), "text", json_object_get(one, "text"));
        json_array_append_new(list, said);
    }
    events_file_write(s->events, "checked", s->job,
                      json_pack("{sI so}", "ms", (json_int_t)took_ms, "unfit", list));
}

bool spare_hosts_check(struct spare_hosts *s, host_check_finder *find, struct event_base *base,
                       bool (*is_over)(void *arg), void *arg)
{
    int64_t began = clock_ms(), took;
    const json_t **found = calloc((size_t)s->plan->list->count, sizeof(json_t *));
    json_t *unfit = NULL;
    char cost[64];
    struct fault why;
    int rc = found ? host_check_run(&unfit, find, s->plan, base, is_over, arg, &why)
                   : fault_set(&why, ML_ERR_MEMORY, "out of memory");
    bool is_fit = !rc;

    took = clock_ms() - began;
    if (!rc && unfit && !unfit_mark(s, unfit, found))
        rc = fault_set(&why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        log_error("--check: %s", why.text);
    if (!rc && unfit) {
        snprintf(cost, sizeof(cost), "; --check took %.1f s", (double)took / 1e3);
        log_info("%zu of %d hosts are not fit%s", json_array_size(unfit),
                 s->plan->where->host_count + s->plan->where->spare_count, cost);
        check_write(s, unfit, took);
        for (int i = 0; i < s->plan->where->host_count; i++)
            if (found[i])
                is_fit &= unfit_settle(s, i, found[i], cost);
    }
    json_decref(unfit);
    free(found);
    return is_fit && !rc;
}

/* --- before a restart ------------------------------------------------------------------------- */

void spare_hosts_evict(struct spare_hosts *s, const struct rank_summary *summary)
{
    struct late_host late;
    char why[128];

    if (!rank_summary_latest(summary, &late))
        return;
    snprintf(why, sizeof(why), "was waited for in %lld of the %lld calls that had to wait",
             (long long)late.calls, (long long)late.of);
    if (!host_replace(s, NULL, late.host, why, ""))
        output_say(s->output, "host %s %s; no spare host can take its place (--evict-slow)",
                   plan_host(s->plan, late.host)->name, why);
}
