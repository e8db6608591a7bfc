/* SPDX-License-Identifier: MIT */
/* llm_row.h: what a step computes, how much room there is for it, and how long it took. */
#ifndef LLM_STEPS_LLM_ROW_H
#define LLM_STEPS_LLM_ROW_H

#include <stdint.h>

enum { LLM_MOST_ROWS = 64 };

struct llm_row {
    int32_t token;
    uint16_t slot;    /* from 0 */
    uint16_t want;    /* not 0: what may follow this row is wanted */
    int32_t position; /* in its slot, from 0 */
};

struct lead_options {
    uint32_t slots;   /* 0: 1 */
    uint32_t context; /* positions of a slot; 0: as many as the model was trained for, at most
                       * 4,096 */
};

/* What a rank has done since lead_open or the last lead_times_clear. */
struct lead_times {
    double total_s;       /* in lead_rows */
    double collectives_s; /* the part of it in the library's calls, waiting for others included */
    uint64_t steps;
    uint64_t rows;
};

#endif
