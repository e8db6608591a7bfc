/* SPDX-License-Identifier: MIT */
/*
 * wiring_survey.h: which RDMA devices lead from host to host: two questions to every host's agent (what it
 * has; whom it reaches, when all are known), and what follows from the answers. The wiring that a
 * hostfile states is verified, one that it doesn't state is found. Knows names, and nothing of verbs:
 * mlaunch-probe, on the hosts, does.
 */
#ifndef LAUNCHER_WIRING_WIRING_SURVEY_H
#define LAUNCHER_WIRING_WIRING_SURVEY_H

#include "common/fault.h"
#include "common/rdma_choice.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct wiring_survey;

/* Kept by reference, but for `stated`. */
struct wiring_survey_config {
    const char *const *names; /* of the hosts */
    int count;
    const char *source; /* "hostfile h.json": in sentences */
    json_t
        *stated; /* [host][host]: list of devices ("x", "x:2") or null; NULL: nothing is stated */
    bool local_net; /* ranks of one host meet over a device, too */
    struct rdma_choice rdma;
    uint64_t tag; /* nobody else's */
};

int wiring_survey_create(struct wiring_survey **out, const struct wiring_survey_config *c,
                         struct fault *why);
void wiring_survey_destroy(struct wiring_survey *s); /* takes NULL */

enum wiring_round { WIRING_LOOK, WIRING_TRY, WIRING_ROUNDS };

/* QUERY's payload for that host, the caller's; WIRING_TRY only once all have answered WIRING_LOOK. */
json_t *wiring_survey_question(const struct wiring_survey *s, int host, enum wiring_round round);
/* ANSWER's. ML_ERR_DEVICE: what this host says is wrong with it. */
int wiring_survey_answer(struct wiring_survey *s, int host, enum wiring_round round,
                         const json_t *said, struct fault *why);

/* When all have answered both. On failure *host is the one that the sentence is about. */
int wiring_survey_settle(struct wiring_survey *s, int *host, struct fault *why);

/* Once settled: [host][host]: list of devices in the order in which both ends pair them, or null. With the port
 * ("x:2") where the device has several that are up. */
json_t *wiring_survey_wiring(const struct wiring_survey *s);

/* Each link with the reasons for what was chosen. */
void wiring_survey_tell(const struct wiring_survey *s, void (*tell)(const char *text, void *arg),
                        void *arg);
/* What works, but is hardly meant: one sentence for all links; false: nothing. */
enum { WIRING_WARNING_TEXT = 700 };
bool wiring_survey_warn(const struct wiring_survey *s, char text[WIRING_WARNING_TEXT]);

#endif
