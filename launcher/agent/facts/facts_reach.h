/* SPDX-License-Identifier: MIT */
/* facts_reach.h: whether the hosts' ranks could connect to each other over TCP. */
#ifndef LAUNCHER_AGENT_FACTS_FACTS_REACH_H
#define LAUNCHER_AGENT_FACTS_FACTS_REACH_H

#include "common/fault.h"

#include <jansson.h>

/* Adds "port": of a TCP socket that listens on every address of this host until the agent ends. The
 * kernel accepts what connects. */
int facts_reach_listen(json_t *out, struct fault *why);

/* Connects to each of `to`, an array of "address:port" or "", all at once, for at most 3 s. Adds
 * "failed": [{"host": index, "error"}], and "rtt_us": how long each way and back has taken, 0 for
 * those that failed. */
int facts_reach_connect(const json_t *to, json_t *out, struct fault *why);

#endif
