/* SPDX-License-Identifier: MIT */
/* rank_mpi.h: joins the PMI service of mpi/pmi.h with the agent: which ranks it is for, what it
 * reports, and the exchange with other hosts. */
#ifndef LAUNCHER_AGENT_RUN_RANK_MPI_H
#define LAUNCHER_AGENT_RUN_RANK_MPI_H

#include "common/fault.h"
#include "launcher/agent/run/coordinator_session.h"

#include <stdbool.h>

struct agent;
struct agent_rank;
extern const struct coordinator_session_events rank_mpi_events;

/* For JOB, once the directories are chosen and the programs are there: decides how the job is
 * served, by PMIx for all its ranks or by PMI-1, and adds to the warnings which MPI programs cannot
 * be. Calls `done`, perhaps within the call, once all is ready, or with the reason why it cannot
 * be. */
void rank_mpi_choose(struct agent *a, void (*done)(struct agent *a, const struct fault *failed));
bool rank_mpi_is_pmix(const struct agent *a);
/* Whether one of its programs cannot do without PMIx. */
bool rank_mpi_needs_pmix(const struct agent *a);
/* Whether the program's ranks get a PMI socket. */
bool rank_mpi_is_served(const struct agent *a, int app);

/* For START: serves PMIx if another host does; and must, if one needs it. `done` as above. */
void rank_mpi_agree(struct agent *a, bool is_pmix, bool needs_pmix,
                    void (*done)(struct agent *a, const struct fault *failed));

/* For START. Does nothing if no program gets a socket. */
int rank_mpi_open(struct agent *a, struct fault *why);
void rank_mpi_close(struct agent *a);

/* Makes the rank's socket and stores the end for it, which the caller closes; -1: it gets none. */
int rank_mpi_socket(struct agent_rank *r, int *fd, struct fault *why);

/* How the program's processes may ask for PMIx: rank_environment.h's asks_pmix. */
const char *rank_mpi_asks(const struct agent *a, int app);

/* The variables of its PMIx server, NULL-terminated; or NULL. */
const char *const *rank_mpi_variables(const struct agent_rank *r);

/* A rank has failed. True: mlaunch-pmix, whose death may be the reason, is asked first, and
 * `release` is called from the loop, once for all ranks, when that is settled. */
bool rank_mpi_hold(struct agent *a, void (*release)(struct agent *a));

/* A rank's first process has ended, or could not be started. */
void rank_mpi_ended(struct agent_rank *r, bool has_succeeded);

/* A child that is no rank has ended. */
void rank_mpi_reaped(struct agent *a, pid_t pid, int status);

/* All ranks have ended: ends mlaunch-pmix, if it was started. */
void rank_mpi_finish(struct agent *a);
bool rank_mpi_has_finished(const struct agent *a);

#endif
