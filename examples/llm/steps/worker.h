/* SPDX-License-Identifier: MIT */
/* worker.h: what ranks 1 … do: the steps that rank 0 sends, until the end. */
#ifndef EXAMPLES_LLM_STEPS_WORKER_H
#define EXAMPLES_LLM_STEPS_WORKER_H

#include "examples/llm/steps/lead.h"

/* Returns 0 after rank 0's lead_end, or the library's negative error. */
int worker_run(struct lead *l);

#endif
