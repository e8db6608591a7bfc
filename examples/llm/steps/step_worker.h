/* SPDX-License-Identifier: MIT */
/* step_worker.h: what ranks 1 … do: the steps that rank 0 sends, until the end. */
#ifndef LLM_STEPS_STEP_WORKER_H
#define LLM_STEPS_STEP_WORKER_H

#include "lead.h"

/* Returns 0 after rank 0's lead_end, or the library's negative error. */
int step_worker_run(struct lead *l);

#endif
