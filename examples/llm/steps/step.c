/* SPDX-License-Identifier: MIT */
#include "step.h"

#include "monotonic.h"

#include <string.h>

int step_share(struct lead *l, struct step *s)
{
    double begin = monotonic_s();
    int rc;

    if (l->forward.ranks == 1)
        return 0;
    rc = ml_broadcast(l->forward.group, s, sizeof(*s), 0);

    /* The others' waiting for a step says nothing about the network. */
    if (!l->rank)
        l->forward.times.collectives_s += monotonic_s() - begin;
    return rc;
}

bool step_is_valid(const struct lead *l, const struct step *s)
{
    const struct attention_cache *c = &l->forward.cache;

    if (s->rows < 1 || s->rows > LLM_MOST_ROWS)
        return false;
    for (uint32_t i = 0; i < s->rows; i++) {
        const struct llm_row *row = &s->row[i];

        if (row->token < 0 || (uint32_t)row->token >= l->forward.shape.vocabulary ||
            row->slot >= c->slots || row->position < 0 || (uint32_t)row->position >= c->context)
            return false;
    }
    return true;
}

int step_compute(struct lead *l, const struct step *s, struct candidates *out)
{
    struct forward *f = &l->forward;
    int wanted = forward_rows(f, s->row, s->rows, l->own), rc = 0;
    double begin = monotonic_s();

    if (wanted <= 0)
        return wanted;
    if (f->ranks > 1) {
        rc = ml_gather(f->group, l->own, l->all, (size_t)wanted * sizeof(*l->own), 0);
        f->times.collectives_s += monotonic_s() - begin;
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

int step_read(struct lead *l, struct step_reading *all)
{
    struct forward *f = &l->forward;
    struct step_reading own = {model_weights_bytes(&f->weights, &f->shape), 0};

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

int step_calls(struct lead *l)
{
    struct forward *f = &l->forward;
    int rc = 0;

    for (uint32_t i = 0; i < 2 * f->shape.layers && !rc; i++) {
        memset(f->part, 0, f->shape.width * sizeof(*f->part));
        rc = ml_all_reduce(f->group, f->part, f->part, f->shape.width, ML_FLOAT32, ML_SUM);
    }
    return rc ? rc : ml_gather(f->group, l->own, l->all, sizeof(*l->own), 0);
}
