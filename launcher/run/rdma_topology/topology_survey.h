/* SPDX-License-Identifier: MIT */
/*
 * topology_survey.h: finds out which RDMA ports lead from host to host. Each host's agent is asked
 * twice: which devices it has, and, once all hosts' devices are known, which ports of other hosts
 * they reach. The wiring follows from the answers: one that the hostfile states is verified, else
 * it is found. This part knows names only; verbs are used by mlaunch-probe, on the hosts.
 */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_SURVEY_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_SURVEY_H

#include "common/fault.h"
#include "launcher/run/rdma_topology/topology_end.h"

#include <jansson.h>

struct topology_survey;

/* ML_ERR_MEMORY. What the config points to must outlive the survey. */
int topology_survey_create(struct topology_survey **out, const struct topology_config *c,
                           struct fault *why);
void topology_survey_destroy(struct topology_survey *s); /* takes NULL */

enum topology_round { TOPOLOGY_DESCRIBE, TOPOLOGY_TRY, TOPOLOGY_ROUNDS };

/* The QUERY for that host, owned by the caller. TOPOLOGY_TRY only once all hosts have answered
 * TOPOLOGY_DESCRIBE. This and the next fit into struct query_rounds; survey: the survey. */
json_t *topology_survey_question(void *survey, int host, int round);
/* That host's ANSWER. ML_ERR_REFUSED: it is malformed. ML_ERR_DEVICE: a device that the stated
 * wiring names can't be used. The sentence does not name the host. */
int topology_survey_answer(void *survey, int host, int round, const json_t *answer,
                           struct fault *why);

/* The host is lost: what it has answered is forgotten. */
void topology_survey_lose(struct topology_survey *s, int host);
/* What is stated from now on; a reference is taken. For a host that comes while the ranks of others
 * run, whose ports are not tried. */
void topology_survey_restate(struct topology_survey *s, json_t *stated);
/* That host's ANSWER to TOPOLOGY_DESCRIBE: as topology_survey_answer() takes it; also, each way
 * between it and the hosts whose answers are known must have devices at both ends whose ports are
 * active. */
int topology_survey_admit(struct topology_survey *s, int host, const json_t *answer,
                          struct fault *why);

/* The host's devices, once it has answered TOPOLOGY_DESCRIBE; the survey's. */
const struct topology_host *topology_survey_host(const struct topology_survey *s, int host);

/* What all answers say, valid as long as the survey. */
const struct topology_facts *topology_survey_facts(const struct topology_survey *s);

/* Call it once all hosts have answered both questions: settles the wiring, logs each link with
 * the reasons for what was chosen (-v), and warns of links that are hardly meant. On failure *host
 * is the host that the sentence is about. */
int topology_survey_conclude(struct topology_survey *s, int *host, struct fault *why);

/* Once concluded, [host][host]: list of devices in the order in which both ends pair them, or null.
 * With the port ("x:2") where the device has several active ones. The survey's. */
json_t *topology_survey_wiring(const struct topology_survey *s);

#endif
