/* SPDX-License-Identifier: MIT */
/* llm_run.h: a model opened for one conversation on all ranks, and a prompt computed. */
#ifndef LLM_LLM_RUN_H
#define LLM_LLM_RUN_H

#include "llm_options.h"
#include "steps/lead.h"

/* Rank 0's work with an open model. Returns the exit status. */
typedef int llm_run_fn(struct lead *l, const struct llm_options *o);

/* Joins the job, opens the model with `context` positions (0: its default), and calls `lead` on
 * rank 0, while the others follow it. What goes wrong is printed, by rank 0 where it can. Returns
 * the exit status. */
int llm_run(const struct llm_options *o, uint32_t context, llm_run_fn *lead);

/* Opens the model on all ranks. If that fails, rank 0 prints why, behind the program's name, before
 * any rank returns. Returns 0 or the exit status. */
int llm_run_open(struct lead **out, ml_group *world, const char *path,
                 const struct lead_options *options, const char *program);

/* Computes tokens[0 … count - 1] at the positions from `first` on. *last gets what may follow the
 * last one, and each[i], unless each is NULL, what may follow token i. 0, or the library's
 * error. */
int llm_run_prompt(struct lead *l, const int32_t *tokens, size_t count, uint32_t first,
                   struct candidates *last, struct candidates *each);

/* Prints that a step has failed, and returns the exit status for it. */
int llm_run_lost(int rc);

#endif
