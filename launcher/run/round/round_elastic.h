/* SPDX-License-Identifier: MIT */
/*
 * round_elastic.h: carries out what elastic_decide() wants when something happens to a rank or a
 * host of a run, in its order. r: the round; h: one of its hosts.
 */
#ifndef LAUNCHER_RUN_ROUND_ROUND_ELASTIC_H
#define LAUNCHER_RUN_ROUND_ROUND_ELASTIC_H

#include "launcher/run/elastic/elastic.h"
#include "launcher/run/state/job_round_state.h"

#include <event2/util.h>

/* A process of the rank has ended, or could not be started. Its failure is known to r->failure.
 * text: the sentence about it. */
void round_elastic_rank(struct job_round *r, const struct exited_report *e, enum blame blame,
                        const char *text);

/* The rank, or all of the host, have ended for good, and nothing is to be decided. */
void round_elastic_end(struct job_round *r, int rank);
void round_elastic_end_all(struct job_round *r, const struct job_round_host *h);

/* Something has happened to the host. text: with ELASTIC_HOST_LOST and _GIVEN_UP why, as its agent
 * or its channel says; with _CLEARED and _FAILS what follows the host's name in a sentence;
 * otherwise NULL. */
void round_elastic_host(struct job_round *r, struct job_round_host *h, enum elastic_event_kind kind,
                        const char *text);
/* The same for an agent that works, whose ranks can be members no more. Nothing happens if it was
 * given up before. is_leaving: it ends its ranks by itself, with the grace. */
void round_elastic_give_up(struct job_round *r, struct job_round_host *h, const char *text,
                           bool is_leaving);
/* A host that was to come does not. text: why; may_return: it joins, and is just away. */
void round_elastic_fails(struct job_round *r, struct job_round_host *h, const char *text,
                         bool may_return);

/* mlaunch grow, and shrink with those ranks, may be carried out: the latter is, then. text: the
 * sentence that says so. */
int round_elastic_grow(const struct job_round *r, struct fault *why);
int round_elastic_shrink(struct job_round *r, const bool *is_asked, const char *text,
                         struct fault *why);

/* As handlers of frames: UNMET, REPAIRED; and COORDINATES from the next coordinator's host. */
int round_elastic_on_unmet(struct job_round *r, struct job_round_host *h, const struct frame *f,
                           struct fault *why);
int round_elastic_on_repaired(struct job_round *r, struct job_round_host *h, const struct frame *f,
                              struct fault *why);
int round_elastic_on_coordinates(struct job_round *r, struct job_round_host *h,
                                 const struct frame *f, struct fault *why);

/* The job is to end, for a reason from outside: the ranks get the signal, and after the grace
 * SIGKILL. */
void round_elastic_stop(struct job_round *r, int signal, int grace_ms);

/* A pause before a rank's next process is over; arg: the round. */
void round_elastic_on_replace(evutil_socket_t fd, short what, void *arg);

/* How many ranks are in the last world. */
int round_elastic_members(const struct job_round *r);
/* Says without whom the job has ended well, if it has. */
void round_elastic_report(const struct job_round *r);

#endif
