/* SPDX-License-Identifier: MIT */
/*
 * rank_input.h: writes STDIN frames to the ranks' standard input. Bytes that a rank has not read
 * are kept, at most AGENT_STDIN_WINDOW of them; STDIN_CREDIT tells the launcher how many more it
 * may send. All bytes for a rank that has closed its stdin, or has ended, are dropped and credited.
 */
#ifndef LAUNCHER_AGENT_RUN_RANK_INPUT_H
#define LAUNCHER_AGENT_RUN_RANK_INPUT_H

#include "common/fault.h"

#include <stddef.h>

struct agent_rank;

/* Accepts frames for a rank that gets stdin, before it is started. ML_ERR_MEMORY. */
int rank_input_create(struct agent_rank *r, struct fault *why);

/* Takes over `fd`, the writing end of the started rank's pipe, also on failure: ML_ERR_MEMORY. */
int rank_input_open(struct agent_rank *r, int fd, struct fault *why);
void rank_input_close(struct agent_rank *r);

/* Bytes of LAUNCH_STDIN for this rank; none: end of file. -1: they exceed the window. */
int rank_input_take(struct agent_rank *r, const void *bytes, size_t size);

#endif
