/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/rank_summary.h"

#include "launcher/base/text/amount.h"
#include "launcher/base/text/text_table.h"

#include <stdio.h>
#include <stdlib.h>

struct rank_end {
    bool has_ended;  /* false also of a rank that never began */
    bool is_stopped; /* mlaunch had ended it */
    int status, signal;
    struct rank_usage usage;
    bool has_counted;
    struct rank_counted counted;
};

struct rank_summary {
    const struct plan *plan;
    struct rank_end *ranks;
};

/* Sums and greatest values of a host, or of the whole job. */
struct total {
    int ranks, failed;
    int64_t elapsed_ms, user_ms, system_ms, peak_bytes;
    int largest; /* the rank with the most memory */
};

enum { CELL = AMOUNT, COUNTED = 4, LATE_CALLS_LEAST = 20 };

struct rank_summary *rank_summary_create(const struct plan *p)
{
    struct rank_summary *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->plan = p;
    s->ranks = calloc((size_t)plan_places(p), sizeof(*s->ranks));
    if (!s->ranks) {
        free(s);
        return NULL;
    }
    return s;
}

void rank_summary_destroy(struct rank_summary *s)
{
    if (!s)
        return;
    free(s->ranks);
    free(s);
}

void rank_summary_add(struct rank_summary *s, const struct exited_report *r)
{
    if (s)
        s->ranks[r->rank] = (struct rank_end){.has_ended = r->pid != 0,
                                              .is_stopped = r->ended_by_us,
                                              .status = r->status,
                                              .signal = r->signal,
                                              .usage = r->usage,
                                              .has_counted = r->has_counted,
                                              .counted = r->counted};
}

static const char *end_text(char out[CELL], const struct rank_end *r)
{
    if (r->is_stopped && r->signal)
        snprintf(out, CELL, "stopped");
    else if (r->signal)
        snprintf(out, CELL, "signal %d", r->signal);
    else
        snprintf(out, CELL, "%d", r->status);
    return out;
}

/* Estimates how many calls for all ranks had to wait for a late rank. The number of calls that any
 * one rank has waited in is a lower bound. If a single rank was late each time, all others waited,
 * so the sum over all ranks, divided by their number less one, says more. */
static int64_t late_calls(const struct rank_summary *s)
{
    int64_t most = 0, sum = 0;
    int ranks = 0;

    for (int i = 0; i < s->plan->where->size; i++) {
        if (!s->ranks[i].has_counted)
            continue;
        ranks++;
        sum += s->ranks[i].counted.kept_waiting;
        if (s->ranks[i].counted.kept_waiting > most)
            most = s->ranks[i].counted.kept_waiting;
    }
    if (ranks < 2)
        return 0;
    return sum / (ranks - 1) > most ? sum / (ranks - 1) : most;
}

/* In how many of the `late` calls the host was the last one: where it has several ranks, each call
 * waits for one of them. */
static int64_t host_late_calls(const struct rank_summary *s, int host, int64_t late)
{
    int64_t sum = 0;

    for (int i = 0; i < s->plan->where->size; i++)
        if (s->plan->where->ranks[i].host == host && s->ranks[i].has_counted)
            sum += late - s->ranks[i].counted.kept_waiting;
    return sum < late ? sum : late;
}

bool rank_summary_latest(const struct rank_summary *s, struct late_host *out)
{
    int64_t next = 0;

    if (!s)
        return false;
    *out = (struct late_host){.of = late_calls(s)};
    for (int i = 0; i < s->plan->where->host_count; i++) {
        int64_t calls = host_late_calls(s, i, out->of);

        if (calls > out->calls) {
            next = out->calls;
            out->calls = calls;
            out->host = i;
        } else if (calls > next) {
            next = calls;
        }
    }
    return out->of >= LATE_CALLS_LEAST && out->calls * 2 > out->of && out->calls > next * 2;
}

static bool anybody_counted(const struct rank_summary *s)
{
    for (int i = 0; i < s->plan->where->size; i++) {
        if (s->ranks[i].has_counted)
            return true;
    }
    return false;
}

/* The cells of what a rank has done with the library, COUNTED of them. */
static void counted_write(char out[COUNTED][CELL], const struct rank_end *r, int64_t late)
{
    for (int i = 0; i < COUNTED; i++)
        out[i][0] = '\0';
    if (!r->has_counted)
        return;
    snprintf(out[0], CELL, "%lld", (long long)r->counted.calls);
    amount_bytes(out[1], r->counted.bytes);
    amount_seconds(out[2], r->counted.wait_ms);
    snprintf(out[3], CELL, "%lld", (long long)(late - r->counted.kept_waiting));
}

static void total_add(struct total *t, int rank, const struct rank_end *r)
{
    const struct rank_usage *u = &r->usage;

    t->ranks++;
    t->failed += (r->signal || r->status) && !r->is_stopped;
    t->user_ms += u->user_ms;
    t->system_ms += u->system_ms;
    if (u->elapsed_ms > t->elapsed_ms)
        t->elapsed_ms = u->elapsed_ms;
    if (u->peak_bytes > t->peak_bytes) {
        t->peak_bytes = u->peak_bytes;
        t->largest = rank;
    }
}

/* host: an index into the plan's hosts; -1: all. */
static struct total total_of(const struct rank_summary *s, int host)
{
    struct total t = {.largest = -1};

    for (int i = 0; i < s->plan->where->size; i++) {
        if (s->ranks[i].has_ended && (host < 0 || s->plan->where->ranks[i].host == host))
            total_add(&t, i, &s->ranks[i]);
    }
    return t;
}

static void ranks_print(const struct rank_summary *s)
{
    static const char *const head[] = {"rank",   "host",   "elapsed", "user",
                                       "system", "memory", "status",  NULL};
    static const char *const full[] = {"rank",  "host",  "elapsed", "user", "system", "memory",
                                       "calls", "bytes", "waited",  "last", "status", NULL};
    bool is_full = anybody_counted(s);
    int64_t late = late_calls(s);
    struct text_table *t =
        is_full ? text_table_create(full, "rlrrrrrrrrl") : text_table_create(head, "rlrrrrl");

    for (int i = 0; t && i < s->plan->where->size; i++) {
        const struct rank_end *r = &s->ranks[i];
        char rank[CELL], elapsed[CELL], user[CELL], system[CELL], memory[CELL], end[CELL];
        char counted[COUNTED][CELL];

        if (!r->has_ended)
            continue;
        snprintf(rank, sizeof(rank), "%d", i);
        counted_write(counted, r, late);
        end_text(end, r);
        text_table_add(t, (const char *[]){
                              rank, plan_host(s->plan, s->plan->where->ranks[i].host)->name,
                              amount_seconds(elapsed, r->usage.elapsed_ms),
                              amount_seconds(user, r->usage.user_ms),
                              amount_seconds(system, r->usage.system_ms),
                              amount_bytes(memory, r->usage.peak_bytes), is_full ? counted[0] : end,
                              counted[1], counted[2], counted[3], end});
    }
    if (t)
        text_table_write(t, stderr);
    text_table_destroy(t);
}

static void hosts_print(const struct rank_summary *s)
{
    static const char *const head[] = {"host",   "ranks",          "elapsed", "user",
                                       "system", "largest memory", NULL};
    struct text_table *t = text_table_create(head, "lrrrrr");

    for (int i = 0; t && i < s->plan->where->host_count; i++) {
        struct total sum = total_of(s, i);
        char ranks[CELL], elapsed[CELL], user[CELL], system[CELL], memory[CELL];

        if (!sum.ranks)
            continue;
        snprintf(ranks, sizeof(ranks), "%d", sum.ranks);
        text_table_add(t, (const char *[]){plan_host(s->plan, i)->name, ranks,
                                           amount_seconds(elapsed, sum.elapsed_ms),
                                           amount_seconds(user, sum.user_ms),
                                           amount_seconds(system, sum.system_ms),
                                           amount_bytes(memory, sum.peak_bytes)});
    }
    if (t)
        text_table_write(t, stderr);
    text_table_destroy(t);
}

void rank_summary_print(const struct rank_summary *s)
{
    struct total all = total_of(s, -1);
    char memory[CELL], elapsed[CELL], user[CELL], system[CELL];

    if (!all.ranks)
        return;
    fprintf(stderr,
            "mlaunch: summary: %d of %d rank%s ended, %d failed; the longest took %s; in all %s "
            "user and %s system time; most memory: rank %d, %s\n",
            all.ranks, s->plan->where->size, s->plan->where->size == 1 ? "" : "s", all.failed,
            amount_seconds(elapsed, all.elapsed_ms), amount_seconds(user, all.user_ms),
            amount_seconds(system, all.system_ms), all.largest,
            amount_bytes(memory, all.peak_bytes));
    if (s->plan->where->size <= RANK_SUMMARY_MOST)
        ranks_print(s);
    if (s->plan->where->host_count > 1)
        hosts_print(s);
}
