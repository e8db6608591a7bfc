/* SPDX-License-Identifier: MIT */
/*
 * wiring_survey.h: finds out which RDMA ports lead from host to host. Each host's agent is asked
 * twice: which devices it has, and, once all hosts' devices are known, which ports of other hosts
 * they reach. The wiring follows from the answers: one that the hostfile states is verified, else
 * it is found. This part knows names only; verbs are used by mlaunch-probe, on the hosts.
 */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_SURVEY_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_SURVEY_H

#include "common/fault.h"
#include "launcher/run/rdma_topology/wiring_answers.h"
#include "launcher/run/rdma_topology/wiring_config.h"

#include <jansson.h>

struct wiring_survey;
struct wiring_facts; /* wiring_end.h */

/* ML_ERR_MEMORY. What the config points to must outlive the survey. */
int wiring_survey_create(struct wiring_survey **out, const struct wiring_config *c,
                         struct fault *why);
void wiring_survey_destroy(struct wiring_survey *s); /* takes NULL */

enum wiring_round { WIRING_LOOK, WIRING_TRY, WIRING_ROUNDS };

/* The QUERY for that host, owned by the caller. WIRING_TRY only once all hosts have answered
 * WIRING_LOOK. */
json_t *wiring_survey_question(const struct wiring_survey *s, int host, enum wiring_round round);
/* That host's ANSWER. ML_ERR_REFUSED: it is malformed. ML_ERR_DEVICE: a device that the stated
 * wiring names can't be used. The sentence does not name the host. */
int wiring_survey_answer(struct wiring_survey *s, int host, enum wiring_round round,
                         const json_t *answer, struct fault *why);

/* The host's devices, once it has answered WIRING_LOOK; the survey's. */
const struct wiring_host *wiring_survey_host(const struct wiring_survey *s, int host);

/* What all answers say, valid as long as the survey. */
const struct wiring_facts *wiring_survey_facts(const struct wiring_survey *s);

/* To be called once all hosts have answered both questions: settles the wiring, logs each link with
 * the reasons for what was chosen (-v), and warns of links that are hardly meant. On failure *host
 * is the host that the sentence is about. */
int wiring_survey_conclude(struct wiring_survey *s, int *host, struct fault *why);

/* Once concluded: [host][host]: list of devices in the order in which both ends pair them, or null.
 * With the port ("x:2") where the device has several active ones. The survey's. */
json_t *wiring_survey_wiring(const struct wiring_survey *s);

#endif
