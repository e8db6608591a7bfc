/* SPDX-License-Identifier: MIT */
/*
 * fake_model.h: stands for the model, its tokenizer and the group of ranks: tokens are bytes, and
 * what follows is a letter that depends on all tokens before it. So an answer shows whether its
 * slot held what it should. FAKE_END ends an answer.
 */
#ifndef TESTS_LLM_FAKE_MODEL_H
#define TESTS_LLM_FAKE_MODEL_H

#include "examples/llm/steps/lead.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_END = 256, FAKE_SLOTS_MOST = 8, FAKE_CONTEXT_MOST = 32768 };

/* Set before a test; not while the engine runs. */
struct fake {
    uint32_t slots, context;
    int step_us;           /* how long a step takes */
    uint32_t end_after;    /* an answer ends at this position; 0: never */
    unsigned fail_at_step; /* that step finds a rank lost; 0: none */
    bool is_elastic;       /* the others then go on */
};
extern struct fake fake;

/* What the engine has done. */
unsigned fake_steps(void);
unsigned fake_rows(void);
unsigned fake_most_slots(void); /* in one step */
unsigned fake_ends(void);       /* calls of lead_end */
void fake_clear(void);

struct lead *fake_lead(void);

/* What the model says after the text: `count` letters, terminated. */
void fake_answer(const char *prompt, uint32_t count, char *out);

#endif
