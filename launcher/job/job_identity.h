/* SPDX-License-Identifier: MIT */
/* job_identity.h: what makes one run of a job that run: its name and its secret. */
#ifndef LAUNCHER_JOB_JOB_IDENTITY_H
#define LAUNCHER_JOB_JOB_IDENTITY_H

#include "common/auth.h"

enum { JOB_ID_SIZE = 16 };

struct job_identity {
    char id[JOB_ID_SIZE]; /* sorts by time, safe in file names: "1ngk8fs-q4z7cd" */
    uint8_t secret[AUTH_SECRET];
};

int job_identity_make(struct job_identity *out, struct fault *why);
void job_identity_wipe(struct job_identity *j);

#endif
