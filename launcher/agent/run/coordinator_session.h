/* SPDX-License-Identifier: MIT */
/*
 * coordinator_session.h: the agent's side of the coordinator: the service itself on the host of
 * rank 0, a connection to it on the others. With --backend none there is nothing, except that
 * several hosts whose ranks are served by MPI's protocols connect as soon as one of them needs it.
 */
#ifndef LAUNCHER_AGENT_RUN_COORDINATOR_SESSION_H
#define LAUNCHER_AGENT_RUN_COORDINATOR_SESSION_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct coordinator_session;

/* What comes by the coordinator for MPI's protocols; the texts are valid during the call. */
struct coordinator_session_events {
    void (*on_exchanged)(struct agent *a, uint32_t number, const void *bytes, size_t size);
    void (*on_named)(struct agent *a, int ask, bool is_done, const char *port);
    void (*on_absent)(struct agent *a, int rank); /* these two: see server_events.h */
    void (*on_passed)(struct agent *a, int host, const void *bytes, size_t size);
};

/* For JOB. On the host of rank 0 it listens and stores "addr:port" in `address` (64 bytes), on the
 * others "". */
int coordinator_session_open(struct coordinator_session **out, struct agent *a,
                             const struct coordinator_session_events *events, char *address,
                             struct fault *why);

/* For START: connects to a coordinator on another host; does nothing if it is here, or not needed
 * yet. */
int coordinator_session_connect(struct coordinator_session *c, const char *address,
                                struct fault *why);

/* Reports that a rank's first process has ended or (pid 0) could not be started; `text` says
 * how. */
void coordinator_session_rank_exited(struct coordinator_session *c, int rank, pid_t pid,
                                     const char *text);
/* Exchanges bytes with all other agents, passes them to one, and asks for names, as
 * coordinator/service/server.h says it. The answers may come within the calls. ML_ERR_REFUSED,
 * ML_ERR_MEMORY; ML_ERR_SYSTEM: there is no coordinator, because it could not listen. */
int coordinator_session_exchange(struct coordinator_session *c, uint32_t number, const void *bytes,
                                 size_t size, struct fault *why);
int coordinator_session_pass(struct coordinator_session *c, int host, const void *bytes,
                             size_t size, struct fault *why);
int coordinator_session_name(struct coordinator_session *c, int ask, const char *what,
                             const char *service, const char *port, struct fault *why);
/* What mlaunch knows of the coordinator that is lost. */
struct coordinator_past {
    uint32_t membership;
    bool has_met;     /* all ranks had met in ml_init */
    const int *ended; /* ranks that have ended, or are to come */
    int count;
};
/* The coordinator is lost. take_over: the next one is here, for the ranks that come by ml_repair;
 * those that have ended do not; stores "addr:port" in `address`. follow: it is there. Both close
 * the connections of this host's ranks to the lost one; the ranks look for the next one in
 * job.json, which the caller writes. */
int coordinator_session_take_over(struct coordinator_session *c,
                                  const struct coordinator_past *past, char *address,
                                  struct fault *why);
int coordinator_session_follow(struct coordinator_session *c, const char *address,
                               struct fault *why);
/* mlaunch has lost that host: if the coordinator is here, its ranks are dead to the others. */
void coordinator_session_host_gone(struct coordinator_session *c, int host, uint32_t placed);
/* Another host is in that place, or it is a further one, behind the last; for the coordinator, if
 * it is here, and this host's relay. */
void coordinator_session_place(struct coordinator_session *c, int host, const char *name);
/* Nobody takes the place of that rank, which has ended; for the coordinator, if it is here. */
void coordinator_session_vacant(struct coordinator_session *c, int rank);
/* That rank leaves the job, whether it still runs or not; for the coordinator, if it is here. */
void coordinator_session_leaves(struct coordinator_session *c, int rank);
/* The job has another rank, on that host; for the coordinator, if it is here, and this host's
 * relay. */
void coordinator_session_grow(struct coordinator_session *c, int host);
/* The ranks are stopped; and they go on. For the coordinator, if it is here. */
void coordinator_session_pause(struct coordinator_session *c);
void coordinator_session_resume(struct coordinator_session *c);
/* Reports what ranks wait for, in NOTEs, if the coordinator is here. */
void coordinator_session_tell_waits(struct coordinator_session *c);
void coordinator_session_close(struct coordinator_session *c); /* takes NULL */

#endif
