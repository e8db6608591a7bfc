/* SPDX-License-Identifier: MIT */
/*
 * step.h: what rank 0 sends to all ranks before each step. Its size is always the same, since all
 * ranks must call ml_broadcast with the same one. Ranks are of one build, so it is a struct as it
 * lies in memory.
 */
#ifndef LLM_STEPS_STEP_H
#define LLM_STEPS_STEP_H

#include "examples/llm/steps/lead.h"

enum step_kind {
    STEP_NOTHING, /* a sign of life */
    STEP_ROWS,    /* compute the rows */
    STEP_READ,    /* read the weights, for their speed */
    STEP_END
};

struct step {
    uint32_t kind;
    uint32_t rows;
    struct llm_row row[LLM_MOST_ROWS];
};

#endif
