/* SPDX-License-Identifier: MIT */
/* served_job.h: the job whose ranks are served, as the agent describes it in HELP_JOB. */
#ifndef LAUNCHER_PMIX_SERVED_JOB_H
#define LAUNCHER_PMIX_SERVED_JOB_H

#include "common/fault.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct served_rank {
    int rank;
    int app;          /* which program of the job it runs */
    const char *cpus; /* "0-3,8": the CPUs that it is bound to; or "" */
};

struct served_job {
    json_t *root;      /* owns all strings */
    const char *space; /* the PMIx namespace: job and run */
    const char *dir;   /* the job directory, for files of PMIx and MPI */
    int size, hosts, host, app_count;
    char **names; /* per host, each another one, of letters that PMIx's expressions have */
    int *host_of; /* per rank */
    struct served_rank *ranks; /* this host's */
    int rank_count;
};

/* Parses and checks. ML_ERR_REFUSED: it is malformed. */
int served_job_parse(struct served_job *out, const char *text, size_t size, struct fault *why);

/* The index of a rank of this host, or -1. */
int served_job_index(const struct served_job *j, uint32_t rank);

#endif
