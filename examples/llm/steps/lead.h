/* SPDX-License-Identifier: MIT */
/*
 * lead.h: a model that lies over the ranks of a group, and the steps that rank 0 lets all of them
 * carry out. Rank 0 calls lead_rows for each step and lead_end at the end; meanwhile the others are
 * in step_worker_run.
 *
 *     rank 0                                    ranks 1 …
 *     lead_open ──── compare the files ──────── lead_open
 *     lead_rows ──── the step: rows ─────────▶ step_worker_run
 *         │  ◀────── two sums a layer ───────▶    │
 *         │  ◀────── the best logits ─────────    │
 *     lead_end  ──── the end ────────────────▶ returns 0
 *     lead_close                                lead_close
 *
 * A row is one token at one position of one slot. A slot is the memory of one conversation: keys
 * and values of its positions. Nothing else is remembered between steps, and a row needs no more
 * than that the positions before it were computed in this slot, in an earlier step or in an earlier
 * row of the same one. So a conversation is left by not mentioning its slot any more, another one
 * begins at position 0, one that shares its beginning with the last continues where they part, and
 * rows of several slots may be in one step.
 *
 * Threads: one at a time may call these functions, of all that belong to one group.
 */
#ifndef LLM_STEPS_LEAD_H
#define LLM_STEPS_LEAD_H

#include "../model/gguf.h"
#include "candidates.h"
#include "llm_row.h"

#include <mlaunch.h>
#include <stdbool.h>

struct lead;

/* Opens the model at `path` for the group, on all of its ranks. *out is set only on success. Else
 * it returns -1, on every rank, with the same sentence in error: it names the host and what is the
 * matter there (no such file, not a model that this program can read, another file than rank 0's,
 * no memory, more ranks than the model can be divided into). If a rank is lost meanwhile: the
 * library's sentence. lead_close takes NULL. */
int lead_open(struct lead **out, ml_group *group, const char *path,
              const struct lead_options *options, char *error, size_t size);
void lead_close(struct lead *l);

/* Every rank, after ML_ERR_PEER in a job of `mlaunch --elastic`: those that live are a new group,
 * among which the weights are divided anew; rank 0 is the one of lowest id. All slots are empty
 * then. Whoever is lost meanwhile is left out, too; *has_come: others took the places of dead ranks
 * (--restarts), and are in lead_open meanwhile. Returns 0, or the library's error, with a
 * sentence in error; ML_ERR_STATE: this job does not go on without a rank. */
int lead_repair(struct lead *l, bool *has_come, char *error, size_t size);

/* Any thread: the group of the ranks that have the model. */
ml_group *lead_group(const struct lead *l);
/* The model's file; it is mapped until lead_close. */
const struct gguf *lead_gguf(const struct lead *l);
int lead_ranks(const struct lead *l);
uint32_t lead_slots(const struct lead *l);
uint32_t lead_context(const struct lead *l);
uint32_t lead_vocabulary(const struct lead *l);

/* Rank 0: one step of n rows, 1 to LLM_MOST_ROWS. Returns 0; then out has the candidates of the
 * rows that want them, in the order of rows. Else a negative ML_ERR_*: ML_ERR_ARGUMENT if a row's
 * token, slot or position doesn't exist, which only rank 0 notices, and nothing has happened; any
 * other is the library's, ml_error() says what it is, and the group is lost. */
int lead_rows(struct lead *l, const struct llm_row *rows, uint32_t n, struct candidates *out);

/* Rank 0: a step that does nothing, but finds out whether all ranks live, and keeps the launcher
 * from reporting those that wait as stalled. Call it every lead_idle_ms() while there is nothing to
 * compute. Returns 0 or the library's error. */
int lead_idle(struct lead *l);

/* Ten seconds, or less if MLAUNCH_STALL is short. */
int lead_idle_ms(void);

/* Rank 0: lets the others return from step_worker_run. Returns 0 or the library's error. */
int lead_end(struct lead *l);

/* This rank's. */
const struct lead_times *lead_times(const struct lead *l);
void lead_times_clear(struct lead *l);

/* Rank 0: lets all ranks read their parts of the weights at the same time, as a token does. On
 * success *bytes is what a token reads in all ranks, *seconds how long that took the slowest (the
 * faster of two passes). Returns 0 or the library's error. */
int lead_read(struct lead *l, uint64_t *bytes, double *seconds);

/* Rank 0: lets all ranks make the calls of a token several times, without computing anything. On
 * success *seconds is what they take for one token (the median). Returns 0 or the library's
 * error. */
int lead_calls(struct lead *l, double *seconds);

#endif
