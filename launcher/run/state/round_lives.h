/* SPDX-License-Identifier: MIT */
/* round_lives.h: something happens to a host or a rank of a run: its state changes (lives.h), and
 * what follows from that alone is done. */
#ifndef LAUNCHER_RUN_STATE_ROUND_LIVES_H
#define LAUNCHER_RUN_STATE_ROUND_LIVES_H

#include "launcher/run/state/job_round_state.h"

void round_lives_host(struct job_round_host *h, enum host_event event);
void round_lives_rank(struct job_round *r, int rank, enum rank_event event);

/* What the host gets its copy of --stage-env from, or NULL. */
struct env_copy *round_lives_copy(const struct job_round_host *h);

/* Writes the event "lost" or "killed" of the host, with the reason, for --events. */
void round_lives_write_lost(const struct job_round_host *h, const char *event, const char *text);

/* The host's agent takes copies of what ranks keep at this address; or not any more (""). Tells
 * those whose ranks copy to another host now. */
void round_lives_keep(struct job_round *r, const struct job_round_host *h, const char *address);

#endif
