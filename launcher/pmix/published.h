/* SPDX-License-Identifier: MIT */
/*
 * published.h: what ranks publish under names, for others to look up, as MPI_Publish_name
 * and MPI_Comm_accept do. mlaunch-pmix of rank 0's host keeps those of the whole job. Ranks wait
 * there for names that are published later.
 */
#ifndef LAUNCHER_PMIX_PUBLISHED_H
#define LAUNCHER_PMIX_PUBLISHED_H

#include "launcher/pmix/forwarder.h"

/* Answers one of FORWARDER_PUBLISH to FORWARDER_AWAIT. Not known: the name is published already, is
 * not published, or there is no room for more. */
int published_take(const struct forwarder_question *q, struct fault *why);

/* Milliseconds until published_expire must be called; -1: never. */
int published_wait_ms(void);
/* Answers the ranks that have waited long enough. */
int published_expire(struct fault *why);

#endif
