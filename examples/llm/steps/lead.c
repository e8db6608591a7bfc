/* SPDX-License-Identifier: MIT */
#include "examples/llm/steps/lead.h"

#include "examples/llm/steps/forward.h"
#include "examples/llm/steps/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_MS = 10000, SENTENCE = 400 };

struct lead {
    struct forward forward;
    int rank;
    struct candidates own[LLM_MOST_ROWS]; /* this rank's */
    struct candidates *all;               /* rank 0: every rank's own, in the order of ranks */
};

/* What each rank tells all others about its opening. */
struct lead_report {
    struct gguf_fingerprint fingerprint;
    uint32_t slots, context;
    char sentence[SENTENCE]; /* of its failure; "": it has opened the model */
};

/* Says in `error` what is wrong with rank r's report; false: nothing. */
static bool report_is_wrong(const struct lead_report *all, int r, const struct lead *l,
                            const char *path, char *error, size_t size)
{
    const struct lead_report *a = &all[0], *b = &all[r];
    const char *host = ml_host(l->forward.group, r);
    bool is_alone = ml_size(l->forward.group) == 1;

    if (b->sentence[0])
        snprintf(error, size, "%s%s%s", is_alone || !host ? "" : host, is_alone || !host ? "" : ": ",
                 b->sentence);
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

int lead_open(struct lead **out, ml_group *group, const char *path,
              const struct lead_options *options, char *error, size_t size)
{
    struct lead_report own = {.sentence = ""};
    struct lead *l = calloc(1, sizeof(*l));
    size_t ranks = (size_t)ml_size(group);

    if (!l) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    l->rank = ml_rank(group);
    if (forward_open(&l->forward, group, path, options, own.sentence, sizeof(own.sentence)) == 0) {
        own.fingerprint = gguf_fingerprint(l->forward.gguf);
        own.slots = l->forward.cache.slots;
        own.context = l->forward.cache.context;
        l->all = l->rank ? NULL : calloc(ranks, sizeof(l->own));
        if (!l->all && !l->rank)
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

/* Rank 0's step goes to all; *s is rank 0's then. */
static int step_share(struct lead *l, struct step *s)
{
    double begin = forward_clock();
    int rc = l->forward.ranks > 1 ? ml_broadcast(l->forward.group, s, sizeof(*s), 0) : 0;

    /* The others' waiting for a step says nothing about the network. */
    if (!l->rank)
        l->forward.times.collectives_s += forward_clock() - begin;
    return rc;
}

static bool rows_are_valid(const struct lead *l, const struct llm_row *rows, uint32_t n)
{
    if (n < 1 || n > LLM_MOST_ROWS)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].token < 0 || (uint32_t)rows[i].token >= lead_vocabulary(l) ||
            rows[i].slot >= lead_slots(l) || rows[i].position < 0 ||
            (uint32_t)rows[i].position >= lead_context(l))
            return false;
    return true;
}

/* Computes the rows of a step; rank 0 gets the candidates of all ranks. */
static int step_compute(struct lead *l, const struct step *s, struct candidates *out)
{
    struct forward *f = &l->forward;
    int wanted = forward_rows(f, s->row, s->rows, l->own), rc = 0;
    double begin = forward_clock();

    if (wanted <= 0)
        return wanted;
    if (f->ranks > 1) {
        rc = ml_gather(f->group, l->own, l->all, (size_t)wanted * sizeof(*l->own), 0);
        f->times.collectives_s += forward_clock() - begin;
    } else {
        memcpy(l->all, l->own, (size_t)wanted * sizeof(*l->own));
    }
    for (int i = 0; i < wanted && !rc && !l->rank; i++) {
        struct candidates parts[2];

        parts[0] = l->all[i];
        for (uint32_t r = 1; r < f->ranks; r++) {
            parts[1] = l->all[r * (size_t)wanted + (size_t)i];
            candidates_merge(&parts[0], parts, 2);
        }
        out[i] = parts[0];
    }
    return rc;
}

int lead_rows(struct lead *l, const struct llm_row *rows, uint32_t n, struct candidates *out)
{
    struct step s = {.kind = STEP_ROWS, .rows = n};
    double begin = forward_clock();
    int rc;

    if (!rows_are_valid(l, rows, n))
        return ML_ERR_ARGUMENT;
    memcpy(s.row, rows, n * sizeof(*rows));
    rc = step_share(l, &s);
    if (!rc)
        rc = step_compute(l, &s, out);
    l->forward.times.total_s += forward_clock() - begin;
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

/* --- how fast memory is ------------------------------------------------------------------------
 */

struct lead_reading {
    uint64_t bytes;
    double seconds;
};

/* All ranks read at the same time. all: rank 0's, or NULL. */
static int step_read(struct lead *l, struct lead_reading *all)
{
    struct forward *f = &l->forward;
    struct lead_reading own = {model_weights_bytes(&f->weights, &f->shape), 0};

    for (int pass = 0; pass < 3; pass++) {
        int rc = ml_barrier(f->group);
        double seconds;

        if (rc)
            return rc;
        seconds = forward_read(f);
        if (pass == 0) /* which only brings the file into memory */
            continue;
        own.seconds = pass == 1 || seconds < own.seconds ? seconds : own.seconds;
    }
    return ml_gather(f->group, &own, all, sizeof(own), 0);
}

int lead_read(struct lead *l, uint64_t *bytes, double *seconds)
{
    struct step s = {.kind = STEP_READ};
    struct lead_reading *all = calloc(l->forward.ranks, sizeof(*all));
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

/* --- the others --------------------------------------------------------------------------------
 */

int lead_follow(struct lead *l)
{
    struct step s = {0};
    int rc;

    for (;;) {
        rc = step_share(l, &s);
        if (rc || s.kind == STEP_END)
            return rc;
        if (s.kind == STEP_READ)
            rc = step_read(l, NULL);
        else if (s.kind == STEP_ROWS && rows_are_valid(l, s.row, s.rows))
            rc = step_compute(l, &s, NULL);
        else if (s.kind != STEP_NOTHING)
            rc = ML_ERR_ARGUMENT; /* rank 0 checks its rows before it sends them */
        if (rc)
            return rc;
    }
}
