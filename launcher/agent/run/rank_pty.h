/* SPDX-License-Identifier: MIT */
/*
 * rank_pty.h: the terminal of the rank that gets one (--pty). The agent has its master end; the
 * rank's three standard streams are the other end, and the controlling terminal of the rank's
 * session.
 */
#ifndef LAUNCHER_AGENT_RUN_RANK_PTY_H
#define LAUNCHER_AGENT_RUN_RANK_PTY_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_rank;

enum { RANK_PTY_END = 2 };

/* Makes the terminal of a rank, with the size that the job states, and stores the rank's end in
 * r->pty, which stays open until rank_pty_close: otherwise a rank that closes its streams for a
 * moment would end the output. *out: the master, for output; *in (unless `in` is NULL): the same
 * once more, for input. Both belong to the caller. ML_ERR_SYSTEM. */
int rank_pty_open(struct agent_rank *r, int *out, int *in, struct fault *why);
void rank_pty_close(struct agent_rank *r);

/* Stores what a user would type to end the input: Ctrl-D, or what the rank has set instead; twice
 * if a line was begun, because the first one only ends that. Returns the number of bytes. */
size_t rank_pty_end_of_input(const struct agent_rank *r, bool is_mid_line,
                             uint8_t out[RANK_PTY_END]);

/* For LAUNCH_RESIZE: the size of the user's terminal, also before the rank is started. */
void rank_pty_resize(struct agent *a, uint16_t rows, uint16_t columns);

/* Tells the rank that its terminal is gone: an interactive shell ends at SIGHUP, not at SIGTERM. */
void rank_pty_hang_up(struct agent *a);

#endif
