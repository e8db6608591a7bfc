/* SPDX-License-Identifier: MIT */
/* independent.h: hosts that are independent of each other (job_round_config's `results`). Each
 * takes its steps as soon as it can, and what fails is a result of that host alone. */
#ifndef LAUNCHER_RUN_ROUND_INDEPENDENT_H
#define LAUNCHER_RUN_ROUND_INDEPENDENT_H

#include "launcher/run/state/round_driver.h"

extern const struct round_driver independent_driver;

#endif
