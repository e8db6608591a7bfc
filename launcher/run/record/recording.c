/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/recording.h"

#include "common/log.h"
#include "launcher/run/record/call_words.h"
#include "launcher/run/record/hash_file.h"
#include "launcher/run/record/record_file.h"
#include "launcher/run/record/trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A group takes its records in blocks, and those of two groups alternate. After this many later
 * ones, none comes that belongs before a call. */
enum { LATE_MOST = RANK_CALLS_LAST };

/* A rank's calls that may have to be sorted in before others. */
struct pending_calls {
    struct rank_call *calls; /* owned */
    size_t count, room;
    int run;
    int64_t error_ns;
};

struct recording {
    const struct plan *plan;
    FILE *record, *trace; /* or NULL */
    struct trace_file *tracing;
    struct hash_file *hashes; /* or NULL */
    struct pending_calls *ranks;
    bool has_calls; /* a rank has made one */
};

static int file_open(FILE **out, const char *option, const char *path, struct fault *why)
{
    if (!path)
        return 0;
    *out = fopen(path, "we");
    return *out ? 0 : fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot write %s", option, path);
}

static void file_close(FILE *f, const char *option, const char *path)
{
    bool has_failed;

    if (!f)
        return;
    has_failed = ferror(f);
    if (fclose(f) || has_failed)
        log_warn("%s: cannot write %s: %s", option, path, strerror(errno));
}

static void recording_destroy(struct recording *r)
{
    trace_file_close(r->tracing);
    hash_file_destroy(r->hashes);
    file_close(r->record, "--record", r->plan->options->record);
    file_close(r->trace, "--trace", r->plan->options->trace);
    free(r->ranks);
    free(r);
}

int recording_open(struct recording **out, const struct plan *p, struct fault *why)
{
    struct recording *r;
    int rc;

    *out = NULL;
    if (!p->options->record && !p->options->trace && !p->options->compare_hashes)
        return 0;
    r = calloc(1, sizeof(*r));
    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->plan = p;
    r->ranks = calloc((size_t)p->where->size, sizeof(*r->ranks));
    rc = r->ranks ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = file_open(&r->record, "--record", p->options->record, why);
    if (!rc)
        rc = file_open(&r->trace, "--trace", p->options->trace, why);
    if (!rc && r->trace)
        rc = trace_file_open(&r->tracing, r->trace, p->where->size, why);
    if (!rc && p->options->compare_hashes)
        rc = hash_file_open(&r->hashes, p->options->compare_hashes, why);
    if (rc)
        recording_destroy(r);
    else
        *out = r;
    return rc;
}

static int call_compare(const void *a, const void *b)
{
    const struct rank_call *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The calls continue without their hashes. */
static void hashes_take(struct hash_file *h, int rank, struct pending_calls *p, size_t count)
{
    hash_file_add(h, rank, p->run, p->calls, count);
    for (size_t i = 0; i < count; i++)
        p->calls[i].received = 0;
}

/* Writes the first calls of a rank, but for the last `kept` ones. */
static void pending_write(struct recording *r, int rank, size_t kept)
{
    struct pending_calls *p = &r->ranks[rank];
    size_t count = p->count > kept ? p->count - kept : 0;
    const char *host = plan_host(r->plan, r->plan->where->ranks[rank].host)->name;

    if (!count)
        return;
    qsort(p->calls, p->count, sizeof(*p->calls), call_compare);
    if (r->hashes)
        hashes_take(r->hashes, rank, p, count);
    if (r->record)
        record_file_write(r->record, rank, host, p->run, p->calls, count);
    if (r->tracing)
        trace_file_add(r->tracing, rank, p->run, host, p->error_ns, p->calls, count);
    p->count -= count;
    memmove(p->calls, p->calls + count, p->count * sizeof(*p->calls));
}

static void pending_end(struct recording *r, int rank)
{
    struct pending_calls *p = &r->ranks[rank];

    pending_write(r, rank, 0);
    free(p->calls);
    *p = (struct pending_calls){0};
}

static void pending_add(struct pending_calls *p, const struct clock_offset *clock,
                        const struct rank_call *calls, size_t count)
{
    if (p->count + count > p->room) {
        struct rank_call *more = realloc(p->calls, (p->count + count) * sizeof(*more));

        if (!more)
            return;
        p->calls = more;
        p->room = p->count + count;
    }
    for (size_t i = 0; i < count; i++) {
        struct rank_call *c = &p->calls[p->count++];

        *c = calls[i];
        c->start = clock_offset_ours(clock, c->start);
        if (c->end)
            c->end = clock_offset_ours(clock, c->end);
    }
}

void recording_add(struct recording *r, int rank, int run, const struct clock_offset *clock,
                   const struct rank_call *calls, size_t count, bool is_last)
{
    struct pending_calls *p;

    if (!r)
        return;
    p = &r->ranks[rank];
    if (p->run != run)
        pending_end(r, rank); /* its host was lost */
    p->run = run;
    p->error_ns = clock_offset_error_ns(clock);
    r->has_calls = r->has_calls || count > 0;
    pending_add(p, clock, calls, count);
    pending_write(r, rank, LATE_MOST);
    if (is_last)
        pending_end(r, rank);
}

bool recording_close(struct recording *r, bool has_run)
{
    bool differs = false;

    if (!r)
        return false;
    for (int i = 0; i < r->plan->where->size; i++)
        pending_end(r, i);
    if (r->record && has_run && !r->has_calls)
        call_words_warn_of_none(r->plan->options->record);
    if (r->trace && has_run && !r->has_calls)
        call_words_warn_of_none(r->plan->options->trace);
    if (r->hashes && has_run)
        differs = hash_file_conclude(r->hashes);
    recording_destroy(r);
    return differs;
}
