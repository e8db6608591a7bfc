/* SPDX-License-Identifier: MIT */
/*
 * rank_environment.h: a rank's environment (mlaunch(1), "ENVIRONMENT"): the agent's own without the
 * variables of outer launchers, then the user's, then the job's; and, unless --no-compat, the
 * latter also under the names that programs for torchrun, MLX and Open MPI use.
 */
#ifndef LAUNCHER_AGENT_RANK_RANK_ENVIRONMENT_H
#define LAUNCHER_AGENT_RANK_RANK_ENVIRONMENT_H

#include "common/fault.h"
#include "launcher/wire/protocol/job_spec.h"

struct variable_list;
struct rank_environment; /* for all ranks of one app */

struct rank_environment_config {
    const struct job_spec *job;
    const struct job_app *app;
    const char *const *inherited; /* NULL-terminated: the agent's environ */
    bool is_attached; /* `inherited` is another rank's environment, and stays as it is */
    const char *job_dir;
    const char *coordinator; /* "addr:port" or "" */
    const char *shim;        /* path of libmlaunch.so.0; NULL: nothing is injected */
    const char *modules;     /* directory of the package mlaunch, for PYTHONPATH; or NULL */
    const char *cwd;         /* for PWD */
    const char *ibv_devices; /* files for MLX (framework_variables.h), or NULL */
    const char *ring_hosts;
    const char *libraries; /* directory of copied libraries, for LD_LIBRARY_PATH; or NULL */
    const char *staged;    /* --stage-env: how the ranks call their copy; or NULL */
    const char *copy;      /* then: its own path */
    bool is_musl;          /* the C library is musl */
    bool serves_pmi;       /* MPICH programs find their launcher by PMI_FD */
    bool serves_pmix;      /* Open MPI programs find it by what rank_environment_of is given */
    const char *segments;  /* then: a directory for MPI's segments, or "" */
    const char *asks_pmix; /* by PMI_FD processes can ask for PMIx: what is behind the descriptor in
                            * MLAUNCH_MPI_FD (runtime/shim_mpi.c); or NULL */
};

/* Adds what all processes of a job on a host have in common: MLAUNCH_JOB, MLAUNCH_SIZE, ... */
void rank_environment_add_job(struct variable_list *l, const struct job_spec *job,
                              const char *job_dir);

/* What Open MPI needs besides its PMIx server's variables; `segments` as above. */
void rank_environment_add_open_mpi(struct variable_list *l, const struct job_spec *job,
                                   const char *segments);

int rank_environment_create(struct rank_environment **out,
                            const struct rank_environment_config *config, struct fault *why);
void rank_environment_destroy(struct rank_environment *e); /* takes NULL */

/* The environment of one rank whose standard output will be `out` and whose socket for PMI is `pmi`
 * (-1: none), NULL-terminated, valid until the next call. `own`: variables of its threads and GPUs,
 * which the user's take precedence over; `pmix`: those of its PMIx server; or NULL. NULL: out of
 * memory. */
char **rank_environment_of(struct rank_environment *e, const struct job_rank *rank,
                           const char *const *own, int out, int pmi, const char *const *pmix);

/* The ranks whose environments are made from now on have been started so often before. */
void rank_environment_set_restarts(struct rank_environment *e, int restarts);

/* With --eager: the place within the strings of rank_environment_of where the child writes its pid
 * (12 bytes); otherwise NULL. */
char *rank_environment_pid_text(struct rank_environment *e);

/* A variable's value, or NULL. */
const char *rank_environment_get(const struct rank_environment *e, const char *name);

#endif
