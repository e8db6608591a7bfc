/* SPDX-License-Identifier: MIT */
/*
 * step.h: what rank 0 sends to all ranks before each step, and what all of them then do. The
 * message always has the same size, since all ranks must call ml_broadcast with the same one; ranks
 * are of one build, so it is a struct as it lies in memory.
 */
#ifndef LLM_STEPS_STEP_H
#define LLM_STEPS_STEP_H

#include "forward.h"

enum step_kind {
    STEP_NOTHING, /* a sign of life */
    STEP_ROWS,    /* compute the rows */
    STEP_READ,    /* read the weights, for their speed */
    STEP_CALLS,   /* only the calls of one row, for their speed */
    STEP_END
};

struct step {
    uint32_t kind;
    uint32_t rows;
    struct llm_row row[LLM_MOST_ROWS];
};

struct lead {
    struct forward forward;
    ml_group *_Atomic group;
    int rank;
    struct candidates own[LLM_MOST_ROWS]; /* this rank's */
    struct candidates *all;               /* rank 0: every rank's own, in the order of ranks */
};

/* What a rank says of STEP_READ. */
struct step_reading {
    uint64_t bytes;
    double seconds;
};

/* Rank 0's *s goes to all. As the others wait here for something to do, only rank 0's time is
 * taken. 0, or the library's error. */
int step_share(struct lead *l, struct step *s);

/* Whether STEP_ROWS has rows, and all of them exist. */
bool step_is_valid(const struct lead *l, const struct step *s);

/* STEP_ROWS: rank 0's `out` gets the candidates of all ranks, in the order of the rows that want
 * some. 0, or the library's error. */
int step_compute(struct lead *l, const struct step *s, struct candidates *out);

/* STEP_READ: rank 0's `all` gets what each rank says. 0, or the library's error. */
int step_read(struct lead *l, struct step_reading *all);

/* STEP_CALLS: the calls that STEP_ROWS makes for one row that wants candidates, which nothing is
 * computed between. 0, or the library's error. */
int step_calls(struct lead *l);

#endif
