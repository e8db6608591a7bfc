/* SPDX-License-Identifier: MIT */
/*
 * pmix_helper.h: mlaunch-pmix, which serves PMIx to this host's ranks, as the agent sees it: a
 * child process behind a socket. It links libpmix, which the agent does not, and whose faults do
 * not end the agent. What it sends is checked, because ranks have a hand in it.
 *
 *     rank ◀─PMIx─▶ mlaunch-pmix ──FENCE───▶ on_exchange ─▶ coordinator
 *                                ◀──FENCED── pmix_helper_exchanged ◀─ all hosts' bytes
 */
#ifndef LAUNCHER_AGENT_MPI_PMIX_HELPER_H
#define LAUNCHER_AGENT_MPI_PMIX_HELPER_H

#include "common/fault.h"
#include "launcher/base/process/stream_child.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;
struct pmix_helper;

/* Called from the loop. No text is valid after the call. Only on_lost may close the helper. */
struct pmix_helper_events {
    void (*on_ready)(void *arg);
    /* All ranks of this host have come to the fence `number`, which counts from 1. Join the bytes
     * with those of all other hosts, for pmix_helper_exchanged. */
    void (*on_exchange)(uint32_t number, const void *bytes, size_t size, void *arg);
    /* Bytes, at least one, for the helper of that host: for pmix_helper_passed there. */
    void (*on_pass)(uint32_t host, const void *bytes, size_t size, void *arg);
    void (*on_abort)(int index, int status, void *arg); /* MPI_Abort */
    /* The job cannot go on, because of this rank. `text` continues a sentence about it. */
    void (*on_fault)(int index, const char *text, void *arg);
    void (*on_note)(int index, const char *text, void *arg); /* a warning, in the same form */
    /* It has said nothing for some time, or has answered again: `text` is a sentence. */
    void (*on_silent)(const char *text, void *arg);
    /* It has ended or cannot serve, for the reason `text`, a sentence; only on_settled may be
     * called afterwards. */
    void (*on_lost)(const char *text, void *arg);
    /* What pmix_helper_ask() has asked is settled. */
    void (*on_settled)(void *arg);
    void *arg;
};

/* Starts the process; `dir` is the job directory, `security` is what the user has set PMIX_MCA_psec
 * to, or "". ML_ERR_SYSTEM: it is missing, or cannot be started. */
int pmix_helper_start(struct stream_child *out, const char *dir, const char *security,
                      struct fault *why);

/* Begins to talk with it, and takes over `child`, also on failure, and `job`, HELP_JOB's JSON;
 * `ranks` are this host's, copied. */
int pmix_helper_open(struct pmix_helper **out, struct event_base *base, struct stream_child *child,
                     json_t *job, const int *ranks, int rank_count,
                     const struct pmix_helper_events *events, struct fault *why);
/* Ends it, takes NULL. */
void pmix_helper_close(struct pmix_helper *h);

/* The variables for this host's rank `index`, once it is ready: NULL-terminated NAME=VALUE. */
const char *const *pmix_helper_variables(const struct pmix_helper *h, int index);

/* The answer to on_exchange. */
void pmix_helper_exchanged(struct pmix_helper *h, uint32_t number, const void *bytes, size_t size);

/* Bytes from the helper of that host. */
void pmix_helper_passed(struct pmix_helper *h, int host, const void *bytes, size_t size);

/* The rank's first process has ended, or could not be started. */
void pmix_helper_rank_ended(struct pmix_helper *h, int index, bool has_succeeded);

/* Asks it whether it lives, before a rank's failure is told, which may be a consequence. True:
 * on_settled follows once it has answered, or has ended (after on_lost), or has been silent for
 * 2 s. False: there is nothing to wait for. */
bool pmix_helper_ask(struct pmix_helper *h);

/* All ranks have ended: ends the process. */
void pmix_helper_finish(struct pmix_helper *h);
bool pmix_helper_has_finished(const struct pmix_helper *h);

/* The agent has reaped a child. False: it was not this one. */
bool pmix_helper_reaped(struct pmix_helper *h, pid_t pid, int status);

#endif
