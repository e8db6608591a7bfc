/* SPDX-License-Identifier: MIT */
/*
 * rank_output.h: sends what ranks write to stdout and stderr as OUTPUT frames. The agent stops
 * reading all pipes while the launcher has AGENT_OUTPUT_WINDOW bytes that it has not acknowledged
 * as written; the ranks then block in write(), and no buffer grows.
 */
#ifndef LAUNCHER_AGENT_RUN_RANK_OUTPUT_H
#define LAUNCHER_AGENT_RUN_RANK_OUTPUT_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct agent;
struct agent_rank;

/* Takes over the reading ends of a new rank's pipes, also on failure (ML_ERR_MEMORY). err -1: there
 * is none, as `out` is the rank's terminal. */
int rank_output_open(struct agent_rank *r, int out, int err, struct fault *why);
void rank_output_close(struct agent_rank *r);

/* Frees the folds of --output fold, and what they hold. */
void rank_output_release(struct agent *a);

/* The rank is never started here: nothing of it is waited for. */
void rank_output_leave_out(struct agent_rank *r);

/* Call it when the rank has ended: notes how many bytes are still in its pipes.
 * rank_output_has_due is true until these have been sent. */
void rank_output_rank_ended(struct agent_rank *r);
bool rank_output_has_due(const struct agent_rank *r);

/* For LAUNCH_CREDIT, and when the channel has taken all bytes that were kept. */
void rank_output_acknowledge(struct agent *a, size_t bytes);
void rank_output_on_written(struct agent *a);

/* Call it when the channel has ended: from now on the pipes are read, so that no rank blocks
 * before its end, and the bytes are dropped. */
void rank_output_abandon(struct agent *a);

/* Call it when no process is left that could write: ends the streams that are empty. False:
 * some still hold bytes, which are sent first. */
bool rank_output_finish(struct agent *a);

/* The rank has ended, and another process takes its place: ends its streams, which begin anew. */
void rank_output_renew(struct agent_rank *r);

/* Closes all pipes. Returns how many bytes in them are dropped. */
size_t rank_output_close_all(struct agent *a);

#endif
