/* SPDX-License-Identifier: MIT */
/*
 * first_failure.h: of all that went wrong in a job, what is to blame: the sentence for the user and
 * mlaunch's exit status. The first to fail by itself; the first consequence only if nobody did;
 * ranks that we ended only if there is nothing else.
 *
 * A consequence on one host may be heard of before its cause on another. So the blame may move
 * until it is settled.
 */
#ifndef LAUNCHER_JOB_FIRST_FAILURE_H
#define LAUNCHER_JOB_FIRST_FAILURE_H

#include "launcher/protocol/agent_report.h"

/* In the order in which blame is laid. */
enum blame { BLAME_NONE, BLAME_ENDED_BY_US, BLAME_CONSEQUENCE, BLAME_CAUSE };

struct first_failure {
    enum blame blame;
    int rank;       /* -1: a host */
    int status;     /* mlaunch's exit status */
    bool is_killed; /* by the user, elsewhere */
    char text[1024];
};

/* How a rank ended: status 0 is no failure. Returns how far it
 * is to blame, whether or not it is the first. */
enum blame first_failure_exited(struct first_failure *f, const struct exited_report *r,
                                const char *host);
void first_failure_aborted(struct first_failure *f, const struct aborted_report *r,
                           const char *host, int64_t pid);
/* A host was lost, or its agent failed: status 125. */
void first_failure_lost(struct first_failure *f, const char *host, const char *text);
/* `mlaunch kill` was used: status 143, and no restart. */
void first_failure_killed(struct first_failure *f, const char *text);

/* The sentence for one rank's end, without a final newline. */
void first_failure_describe(char *out, size_t size, const struct exited_report *r,
                            const char *host);

#endif
