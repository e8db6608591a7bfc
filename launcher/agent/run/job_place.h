/* SPDX-License-Identifier: MIT */
/*
 * job_place.h: where the ranks of a job are on this host: the job directory and what is in it for
 * them, their control group, the directories they start in, the processors they are bound to, the
 * copies of --stage and --stage-env, the container.
 */
#ifndef LAUNCHER_AGENT_RUN_JOB_PLACE_H
#define LAUNCHER_AGENT_RUN_JOB_PLACE_H

#include "common/fault.h"

struct agent;
/* Finds on this host what every job needs, while mlaunch answers HELLO. */
void job_place_find_ahead(struct agent *a);

/* Makes all of it for the job, but for what is seen (job_place_open_view). A warning goes to READY.
 * The first fault that a user would look for is the one that is named. */
int job_place_open(struct agent *a, struct fault *why);
/* The copy of --stage-env is there, and gets the name by which others find it. ML_ERR_SYSTEM. */
int job_place_settle_copy(struct agent *a, struct fault *why);
/* --mount and --stage-env: what ranks see in the place of something else, once the copy is
 * there. */
int job_place_open_view(struct agent *a, struct fault *why);

/* Writes job.json, which names run.coordinator, and the file with the secret, or replaces them.
 * ML_ERR_SYSTEM names the file. */
int job_place_write_file(struct agent *a, struct fault *why);

/* With backend rdma: writes rdma.json, which tells the ranks' runtime which devices reach which
 * hosts, or replaces it. ML_ERR_SYSTEM names the file. */
int job_place_write_wiring(struct agent *a, struct fault *why);

/* Makes the job directory again if it was removed while the job ran, with what processes read that
 * start now. ML_ERR_SYSTEM. */
int job_place_restore(struct agent *a, struct fault *why);

/* Shows others, now and then, that the job directory is used. */
void job_place_touch(struct agent *a);

/* Gives all of it back but the directory. Takes an agent without a job. */
void job_place_close(struct agent *a);
/* Removes the job directory, if there is one, and what is in /dev/shm, unless the guard does so. */
void job_place_remove(struct agent *a);

#endif
