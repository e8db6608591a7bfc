/* SPDX-License-Identifier: MIT */
/*
 * change_requests.h: what `mlaunch shrink` and `grow` ask of a job of --elastic that runs. Each
 * connection to the job's socket (job_socket.h) carries one request, a line of JSON, and its
 * answers, a line each: {"text"} while it goes on, at last {"status", "text"}. All on the loop.
 */
#ifndef LAUNCHER_RUN_CHANGE_CHANGE_REQUESTS_H
#define LAUNCHER_RUN_CHANGE_CHANGE_REQUESTS_H

#include "launcher/input/values/rank_set.h"

struct change_requests;
struct event_base;

/* Who carries them out. */
struct change_handlers {
    /* `by`: "by alice on host a". ML_ERR_STATE, ML_ERR_ARGUMENT: nothing changes, for a reason that
     * the user is told. */
    int (*shrink)(const struct rank_set *ranks, const char *by, void *arg, struct fault *why);
    /* Whether all of these have ended. */
    bool (*has_shrunk)(const struct rank_set *ranks, void *arg);
    /* hosts: as for -H. Stores the numbers of the new ranks; *first is -1 while hosts are being
     * reached, until change_requests_came(). The same errors. */
    int (*grow)(const char *hosts, const char *by, int *first, int *count, void *arg,
                struct fault *why);
    /* Whether all of these run or have ended; *have_ended: one has. */
    bool (*has_grown)(int first, int count, bool *have_ended, void *arg);
    void *arg;
};

/* ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int change_requests_open(struct change_requests **out, struct event_base *base, const char *job,
                         const struct change_handlers *handlers, struct fault *why);
void change_requests_close(struct change_requests *c); /* takes NULL */

/* The hosts that were being reached have come, and their first rank is `first`; or it is -1, and
 * `why` says why not. Takes NULL. */
void change_requests_came(struct change_requests *c, int first, const char *why);

/* A rank has been started, or has ended: who has waited for it is answered. Takes NULL. */
void change_requests_look(struct change_requests *c);

#endif
