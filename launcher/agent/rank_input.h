/* SPDX-License-Identifier: MIT */
/*
 * rank_input.h: STDIN frames into ranks' standard input. What a rank has not read yet is kept, at
 * most AGENT_STDIN_WINDOW bytes; the launcher may send more when STDIN_CREDIT says that some were
 * taken. A rank that closes its stdin, or ends, takes everything.
 */
#ifndef LAUNCHER_AGENT_RANK_INPUT_H
#define LAUNCHER_AGENT_RANK_INPUT_H

#include "common/fault.h"

#include <stddef.h>

struct agent_rank;

/* Accepts frames for a rank that gets stdin, before it is started. ML_ERR_MEMORY. */
int rank_input_create(struct agent_rank *r, struct fault *why);

/* Takes over `fd`, the writing end of the started rank's pipe, also on failure: ML_ERR_MEMORY. */
int rank_input_open(struct agent_rank *r, int fd, struct fault *why);
void rank_input_close(struct agent_rank *r);

/* LAUNCH_STDIN for this rank; no bytes: end of file. -1: more than the window allows. */
int rank_input_take(struct agent_rank *r, const void *bytes, size_t size);

#endif
