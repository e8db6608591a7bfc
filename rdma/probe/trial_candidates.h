/* SPDX-License-Identifier: MIT */
/*
 * trial_candidates.h: which ports of other hosts may be at the other end of those of one device, out of what all hosts
 * have said of theirs (the question in doc/protocol.md, "Wires"). Every host finds the same.
 */
#ifndef RDMA_PROBE_TRIAL_CANDIDATES_H
#define RDMA_PROBE_TRIAL_CANDIDATES_H

#include "rdma/probe/wire_trial.h"

#include <jansson.h>

enum { TRIAL_CANDIDATES = 1024 };

struct trial_candidates {
    struct wire_trial_target targets[TRIAL_CANDIDATES];
    int count, groups;
    json_t *tries; /* of each target, as the answer has it; the caller's */
};

/* For the device of that name of the host that was asked. */
void trial_candidates_find(struct trial_candidates *out, const json_t *question,
                           const char *device);

#endif
