/* SPDX-License-Identifier: MIT */
/*
 * rank_output.h: what ranks write to stdout and stderr, from their pipes into OUTPUT frames. The
 * agent stops reading all pipes while AGENT_OUTPUT_WINDOW bytes are on their way that the launcher
 * has not written out yet; the ranks then block in their write(), and nothing grows.
 */
#ifndef LAUNCHER_AGENT_RANK_OUTPUT_H
#define LAUNCHER_AGENT_RANK_OUTPUT_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct agent;
struct agent_rank;

/* Takes over the reading ends of a new rank's pipes, also on failure: ML_ERR_MEMORY. */
int rank_output_open(struct agent_rank *r, int out, int err, struct fault *why);
void rank_output_close(struct agent_rank *r);

/* The rank has ended: note what of it is still in the pipes. rank_output_has_due tells whether that
 * has not been sent yet. */
void rank_output_rank_ended(struct agent_rank *r);
bool rank_output_has_due(const struct agent_rank *r);

/* LAUNCH_CREDIT; and: the channel has taken all that was kept. */
void rank_output_acknowledge(struct agent *a, size_t bytes);
void rank_output_on_written(struct agent *a);

/* The channel is gone: what ranks still write is read, so that none blocks on its way out, and
 * dropped. */
void rank_output_abandon(struct agent *a);

/* When nobody is left who could write: ends the streams that are empty. False: some still hold
 * bytes, which go their way first. */
bool rank_output_finish(struct agent *a);

/* Reads no more. How many bytes that were in the pipes are dropped. */
size_t rank_output_close_all(struct agent *a);

#endif
