/* SPDX-License-Identifier: MIT */
/* rank_mpi_state.h: how the MPI programs of a run are served (rank_mpi.h). */
#ifndef LAUNCHER_AGENT_STATE_RANK_MPI_STATE_H
#define LAUNCHER_AGENT_STATE_RANK_MPI_STATE_H

#include "common/fault.h"
#include "launcher/agent/host/job_directory.h"

#include <stdbool.h>

struct agent;
struct mpi_apart;
struct pmi;
struct pmix_demand;
struct pmix_helper;

struct rank_mpi {
    bool *serves_pmi;           /* per app: its ranks get a socket for PMI */
    bool *knows_python;         /* per app: it is Python, and which MPI that has was looked up */
    struct pmi *pmi;            /* NULL: no rank has a socket */
    struct mpi_apart *apart;    /* NULL: nothing is said of MPI programs that are apart */
    struct pmix_helper *pmix;   /* NULL: none was started */
    bool needs_pmix;            /* without it the job must not run */
    bool serves_pmix;           /* all ranks are served by it */
    struct pmix_demand *demand; /* which ranks' processes have asked for it; or NULL */
    void (*done)(struct agent *a, const struct fault *failed); /* once `pmix` is ready */
    void (*release)(struct agent *a);       /* reap.c's, for ranks in RANK_HELD */
    char segments[JOB_DIRECTORY_PATH + 64]; /* directory for those of MPI's libraries; or "" */
};

#endif
