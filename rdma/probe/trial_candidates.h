/* SPDX-License-Identifier: MIT */
/* trial_candidates.h: which ports of other hosts may be at the other end of one device's ports.
 * Every host finds the same pairs in the same question. */
#ifndef RDMA_PROBE_TRIAL_CANDIDATES_H
#define RDMA_PROBE_TRIAL_CANDIDATES_H

#include "rdma/probe/trial_question.h"
#include "rdma/probe/wire_trial.h"

#include <jansson.h>

enum { TRIAL_CANDIDATES = 1024 };

struct trial_candidates {
    struct wire_trial_target targets[TRIAL_CANDIDATES];
    int count, groups;
    json_t *tries; /* for each target, as the answer holds it; the caller's */
};

/* For the device of that name of the host that was asked. */
void trial_candidates_find(struct trial_candidates *out, const struct trial_question *q,
                           const char *device);

#endif
