/* SPDX-License-Identifier: MIT */
/* job_identity.h: the name of a job, and the secret that the processes of one run share. */
#ifndef LAUNCHER_RUN_IDENTITY_JOB_IDENTITY_H
#define LAUNCHER_RUN_IDENTITY_JOB_IDENTITY_H

#include "common/net/auth.h"

enum { JOB_ID_SIZE = 16 };

struct job_identity {
    char id[JOB_ID_SIZE]; /* sorts by time, safe in file names: "1ngk8fs-q4z7cd" */
    int restart;          /* how many runs of the job came before */
    uint8_t secret[AUTH_SECRET];
};

/* Makes a new name. ML_ERR_SYSTEM: there is no source of randomness. */
int job_identity_name(char id[JOB_ID_SIZE], struct fault *why);
/* The identity of a run: a random secret. ML_ERR_SYSTEM. */
int job_identity_make(struct job_identity *out, const char *id, int restart, struct fault *why);
/* Overwrites the secret in memory, before *j is freed; also if it was never made. */
void job_identity_wipe(struct job_identity *j);

#endif
