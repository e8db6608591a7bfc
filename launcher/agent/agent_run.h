/* SPDX-License-Identifier: MIT */
/* agent_run.h: one run of the agent, from HELLO to AGAIN or to its end: makes it and ends it, so
 * that nothing of one run is in the next, but for what agent.h says of the process. */
#ifndef LAUNCHER_AGENT_AGENT_RUN_H
#define LAUNCHER_AGENT_AGENT_RUN_H

struct agent;

/* A new run, in the state HELLO, without a job. */
void agent_run_open(struct agent *a);

/* Frees what JOB has made, and forgets the job; the run goes on without one, to be refused. The
 * ranks have ended, or were never started. Takes an agent without a job. */
void agent_run_end_job(struct agent *a);

/* Ends the run. The job directory, if there is one, is left. */
void agent_run_close(struct agent *a);

#endif
