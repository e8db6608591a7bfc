/* SPDX-License-Identifier: MIT */
/* rank_mpi.h: joins the PMI service of mpi/pmi.h with the agent: which ranks it is for, what it
 * reports, and the exchange with other hosts. */
#ifndef LAUNCHER_AGENT_RANK_MPI_H
#define LAUNCHER_AGENT_RANK_MPI_H

#include "common/fault.h"
#include "launcher/agent/coordination.h"

#include <stdbool.h>

struct agent;
struct agent_rank;

extern const struct coordination_events rank_mpi_events;

/* For JOB, once the directories are chosen: decides which programs get a PMI socket, and adds to
 * a->warnings which MPI programs cannot be served. ML_ERR_MEMORY. */
int rank_mpi_choose(struct agent *a, struct fault *why);
bool rank_mpi_is_served(const struct agent *a, int app);

/* For START. Does nothing if no program gets a socket. */
int rank_mpi_open(struct agent *a, struct fault *why);
void rank_mpi_close(struct agent *a);

/* Makes the rank's socket and stores the end for it, which the caller closes; -1: it gets none. */
int rank_mpi_socket(struct agent_rank *r, int *fd, struct fault *why);

/* A rank's first process has ended, or could not be started. */
void rank_mpi_ended(struct agent_rank *r, bool has_succeeded);

#endif
