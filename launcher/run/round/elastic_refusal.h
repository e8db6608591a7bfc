/* SPDX-License-Identifier: MIT */
/* elastic_refusal.h: why mlaunch grow or shrink changes nothing now. */
#ifndef LAUNCHER_RUN_ROUND_ELASTIC_REFUSAL_H
#define LAUNCHER_RUN_ROUND_ELASTIC_REFUSAL_H

#include "common/fault.h"
#include "launcher/run/elastic/elastic.h"

struct job_round;

/* Sets *why to the sentence about an ELASTIC_REFUSE: ML_ERR_STATE, which it returns. */
int elastic_refusal_set(const struct job_round *r, const struct elastic_action *a,
                        struct fault *why);

#endif
