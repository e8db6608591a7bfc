/* SPDX-License-Identifier: MIT */
#include "lead.h"

#include "monotonic.h"
#include "step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_MS = 10000, SENTENCE = 400, CALLS_ROUNDS = 31 };

/* What each rank tells all others about its opening. */
struct lead_report {
    struct gguf_fingerprint fingerprint;
    uint32_t slots, context;
    char sentence[SENTENCE]; /* why it failed; "": it has opened the model */
};

/* Says in `error` what is wrong with rank r's report; false: nothing. */
static bool report_is_wrong(const struct lead_report *all, int r, const struct lead *l,
                            const char *path, char *error, size_t size)
{
    const struct lead_report *a = &all[0], *b = &all[r];
    const char *host = ml_host(l->forward.group, r);
    bool is_alone = ml_size(l->forward.group) == 1;

    if (b->sentence[0])
        snprintf(error, size, "%s%s%s", is_alone || !host ? "" : host,
                 is_alone || !host ? "" : ": ", b->sentence);
    else if (a->fingerprint.size != b->fingerprint.size ||
             a->fingerprint.hash != b->fingerprint.hash)
        snprintf(error, size,
                 "%s: %s is another file than on %s: %" PRIu64 " and %" PRIu64
                 " bytes, with keys and tensors of checksums %016" PRIx64 " and %016" PRIx64
                 "; copy one of them to all hosts",
                 host, path, ml_host(l->forward.group, 0), b->fingerprint.size, a->fingerprint.size,
                 b->fingerprint.hash, a->fingerprint.hash);
    else if (a->slots != b->slots || a->context != b->context)
        snprintf(error, size, "rank %d on %s has other options than rank 0", r, host);
    else
        return false;
    return true;
}

/* All ranks learn how all others fared. */
static int lead_compare(struct lead *l, const char *path, const struct lead_report *own,
                        char *error, size_t size)
{
    int ranks = ml_size(l->forward.group), rc = 0;
    struct lead_report *all = calloc((size_t)ranks, sizeof(*all));

    if (!all) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    if (ml_all_gather(l->forward.group, own, all, sizeof(*own))) {
        snprintf(error, size, "%s", ml_error());
        rc = -1;
    }
    for (int r = 0; r < ranks && !rc; r++) {
        all[r].sentence[SENTENCE - 1] = 0;
        rc = report_is_wrong(all, r, l, path, error, size) ? -1 : 0;
    }
    free(all);
    return rc;
}

/* Where rank 0 gets the candidates of all. */
static int lead_make_room(struct lead *l)
{
    free(l->all);
    l->all = l->rank ? NULL : calloc(l->forward.ranks, sizeof(l->own));
    return l->all || l->rank ? 0 : -1;
}

static void report_fill(struct lead_report *own, const struct lead *l)
{
    own->fingerprint = gguf_fingerprint(l->forward.gguf);
    own->slots = l->forward.cache.slots;
    own->context = l->forward.cache.context;
}

int lead_repair(struct lead *l, bool *has_come, char *error, size_t size)
{
    struct lead_report own = {.sentence = ""};
    struct ml_change change;
    ml_group *next;
    int rc = ml_repair(l->forward.group, &next, &change);

    if (rc) {
        snprintf(error, size, "%s", ml_error());
        return rc;
    }
    l->rank = ml_rank(next);
    l->group = next;
    if (forward_divide(&l->forward, next, error, size))
        return ML_ERR_MEMORY;
    if (lead_make_room(l)) {
        snprintf(error, size, "out of memory");
        return ML_ERR_MEMORY;
    }
    *has_come = change.came_count > 0;
    report_fill(&own, l);
    return *has_come && lead_compare(l, gguf_path(l->forward.gguf), &own, error, size)
               ? ML_ERR_REFUSED
               : 0;
}

ml_group *lead_group(const struct lead *l)
{
    return l->group;
}

int lead_open(struct lead **out, ml_group *group, const char *path,
              const struct lead_options *options, char *error, size_t size)
{
    struct lead_report own = {.sentence = ""};
    struct lead *l = calloc(1, sizeof(*l));

    if (!l) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    l->rank = ml_rank(group);
    l->group = group;
    if (forward_open(&l->forward, group, path, options, own.sentence, sizeof(own.sentence)) == 0) {
        report_fill(&own, l);
        if (lead_make_room(l))
            snprintf(own.sentence, sizeof(own.sentence), "out of memory");
    }
    l->forward.group = group; /* what has failed to open is all zeros */
    if (lead_compare(l, path, &own, error, size)) {
        lead_close(l);
        return -1;
    }
    *out = l;
    return 0;
}

void lead_close(struct lead *l)
{
    if (!l)
        return;
    forward_close(&l->forward);
    free(l->all);
    free(l);
}

const struct gguf *lead_gguf(const struct lead *l)
{
    return l->forward.gguf;
}

int lead_ranks(const struct lead *l)
{
    return (int)l->forward.ranks;
}

uint32_t lead_slots(const struct lead *l)
{
    return l->forward.cache.slots;
}

uint32_t lead_context(const struct lead *l)
{
    return l->forward.cache.context;
}

uint32_t lead_vocabulary(const struct lead *l)
{
    return l->forward.shape.vocabulary;
}

const struct lead_times *lead_times(const struct lead *l)
{
    return &l->forward.times;
}

void lead_times_clear(struct lead *l)
{
    memset(&l->forward.times, 0, sizeof(l->forward.times));
}

/* --- steps -------------------------------------------------------------------------------------
 */

int lead_rows(struct lead *l, const struct llm_row *rows, uint32_t n, struct candidates *out)
{
    struct step s = {.kind = STEP_ROWS, .rows = n};
    double begin = monotonic_s();
    int rc;

    if (n < 1 || n > LLM_MOST_ROWS)
        return ML_ERR_ARGUMENT;
    memcpy(s.row, rows, n * sizeof(*rows));
    if (!step_is_valid(l, &s))
        return ML_ERR_ARGUMENT;
    rc = step_share(l, &s);
    if (!rc)
        rc = step_compute(l, &s, out);
    l->forward.times.total_s += monotonic_s() - begin;
    l->forward.times.steps++;
    l->forward.times.rows += n;
    return rc;
}

int lead_idle(struct lead *l)
{
    struct step s = {.kind = STEP_NOTHING};

    return step_share(l, &s);
}

int lead_idle_ms(void)
{
    const char *value = getenv("MLAUNCH_STALL");
    long stall_s = value ? strtol(value, NULL, 10) : 0;

    return stall_s > 0 && stall_s < 30 ? (int)stall_s * 1000 / 3 : IDLE_MS;
}

int lead_end(struct lead *l)
{
    struct step s = {.kind = STEP_END};

    return step_share(l, &s);
}

/* --- how fast memory and the network are -------------------------------------------------------
 */

int lead_read(struct lead *l, uint64_t *bytes, double *seconds)
{
    struct step s = {.kind = STEP_READ};
    struct step_reading *all = calloc(l->forward.ranks, sizeof(*all));
    int rc = all ? step_share(l, &s) : ML_ERR_MEMORY;

    if (!rc)
        rc = step_read(l, all);
    *bytes = 0;
    *seconds = 0;
    for (uint32_t r = 0; r < l->forward.ranks && !rc; r++) {
        *bytes += all[r].bytes;
        *seconds = all[r].seconds > *seconds ? all[r].seconds : *seconds;
    }
    free(all);
    return rc;
}

static int seconds_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int lead_calls(struct lead *l, double *seconds)
{
    double rounds[CALLS_ROUNDS];
    int rc = 0;

    *seconds = 0;
    if (l->forward.ranks == 1)
        return 0;
    for (int i = 0; i < CALLS_ROUNDS && !rc; i++) {
        struct step s = {.kind = STEP_CALLS};
        double begin = monotonic_s();

        rc = step_share(l, &s);
        if (!rc)
            rc = step_calls(l);
        rounds[i] = monotonic_s() - begin;
    }
    if (rc)
        return rc;
    qsort(rounds, CALLS_ROUNDS, sizeof(rounds[0]), seconds_order);
    *seconds = rounds[CALLS_ROUNDS / 2];
    return 0;
}
