/* SPDX-License-Identifier: MIT */
/* job_keeper_state.h: the keeper of this host (job_keeper.h), and where the next one is. */
#ifndef LAUNCHER_AGENT_STATE_JOB_KEEPER_STATE_H
#define LAUNCHER_AGENT_STATE_JOB_KEEPER_STATE_H

#include <sys/types.h>

struct job_keeper {
    pid_t pid;        /* or 0 */
    int ended;        /* how many have ended */
    char address[64]; /* where it listens, or "" */
    char next[256];   /* where that of the next host does, as in job_file.h */
};

#endif
