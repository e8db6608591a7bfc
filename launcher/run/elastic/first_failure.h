/* SPDX-License-Identifier: MIT */
/*
 * first_failure.h: of all failures in a job, the one that is reported and that gives mlaunch's exit
 * status. It is the first rank or host that failed by itself; if there is none, the first host that
 * lost the coordinator, then the first rank that failed as a consequence, such as a lost peer; and
 * only if there is nothing else, a rank that mlaunch ended.
 *
 * The consequence on one host may be reported before its cause on another. So the blame may move
 * until the last rank has ended.
 */
#ifndef LAUNCHER_RUN_ELASTIC_FIRST_FAILURE_H
#define LAUNCHER_RUN_ELASTIC_FIRST_FAILURE_H

#include "launcher/wire/protocol/agent_report.h"

/* How much a failure is to blame, least first. BLAME_CUT_OFF: a host that has lost the coordinator.
 * Mostly rank 0's host has died, which is the cause; its end may be reported later. So may that of
 * a rank, if an agent has found that the job cannot go on because of it (BLAME_FAULT). */
enum blame {
    BLAME_NONE,
    BLAME_ENDED_BY_US,
    BLAME_CONSEQUENCE,
    BLAME_CUT_OFF,
    BLAME_FAULT,
    BLAME_CAUSE
};

struct first_failure {
    enum blame blame;
    int rank;         /* -1: a host failed */
    int status;       /* mlaunch's exit status */
    bool is_killed;   /* `mlaunch kill` was used */
    bool is_hopeless; /* there is no such program, or it cannot be executed */
    char text[1024];
};

/* A rank has ended; status 0 is no failure. Returns how much it is to blame, whether or not it is
 * the first. */
enum blame first_failure_exited(struct first_failure *f, const struct exited_report *r,
                                const char *host);
/* A rank has called ml_abort() or MPI_Abort(), or the job cannot go on because of it. In the latter
 * case a rank that fails by itself is still the cause. */
void first_failure_aborted(struct first_failure *f, const struct aborted_report *r,
                           const char *host, int64_t pid);
/* A host was lost, or its agent failed (BLAME_CAUSE), or its agent works, but has lost the
 * coordinator (BLAME_CUT_OFF): status 125. */
void first_failure_lost(struct first_failure *f, enum blame blame, const char *host,
                        const char *text);
/* Only `lives` of `size` ranks go on, fewer than --elastic asks for: status 125. Why the others are
 * gone may be reported later, by another host's agent. */
void first_failure_shrunk(struct first_failure *f, int lives, int size, int least);
/* `mlaunch kill` was used: status 143, and no restart. */
void first_failure_killed(struct first_failure *f, const char *text);

/* The sentence about one rank's end, without a newline, cut off after size - 1 bytes. */
void first_failure_describe(char *out, size_t size, const struct exited_report *r,
                            const char *host);

#endif
