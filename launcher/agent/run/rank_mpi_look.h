/* SPDX-License-Identifier: MIT */
/* rank_mpi_look.h: which MPI the programs of a job need, as they are found where the ranks will
 * find them. */
#ifndef LAUNCHER_AGENT_RUN_RANK_MPI_LOOK_H
#define LAUNCHER_AGENT_RUN_RANK_MPI_LOOK_H

#include <stdbool.h>

struct agent;
struct mpi_command;

/* What the program `app` needs. If it is an MPI that mlaunch does not serve, READY's warnings say
 * so. */
void rank_mpi_look_app(struct agent *a, int app, struct mpi_command *out);

/* True if that Python, which a rank of the program has started, has an mpi4py of Open MPI. */
bool rank_mpi_look_python(const struct agent *a, int app, const char *python);

#endif
