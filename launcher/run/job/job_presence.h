/* SPDX-License-Identifier: MIT */
/*
 * job_presence.h: this mlaunch's entry in the register of running ones (job_register.h), so that
 * `mlaunch ps` and others find the job here whatever its agents do. A job runs without its entry
 * where none can be written.
 */
#ifndef LAUNCHER_RUN_JOB_JOB_PRESENCE_H
#define LAUNCHER_RUN_JOB_JOB_PRESENCE_H

#include "launcher/base/machine/register_entry.h"
#include "launcher/input/plan/plan.h"

struct event_base;
struct job_presence;
struct question_door;

/* Nothing is written yet. `plan` and `id` must outlive it. ML_ERR_MEMORY. */
int job_presence_open(struct job_presence **out, struct event_base *base, const struct plan *plan,
                      const char *id, struct fault *why);
void job_presence_close(struct job_presence *p); /* removes the entry; takes NULL */

/* Where others ask its hosts that have joined, the presence's; NULL: it has none. */
struct question_door *job_presence_door(const struct job_presence *p);

/* How far the job is. The first call writes the entry at once, with a warning if it cannot; later
 * ones do a moment later, so that what happens quickly costs one write. */
void job_presence_set(struct job_presence *p, enum register_state state, int restart);

/* The job has got more ranks, and perhaps more hosts, which the entry says at once. */
void job_presence_renew(struct job_presence *p);

#endif
