/* SPDX-License-Identifier: MIT */
/* together.h: hosts that run a job together: all start their ranks at the same time or none, and
 * the first failure ends the job, unless it outlives it (--elastic). */
#ifndef LAUNCHER_RUN_ROUND_TOGETHER_H
#define LAUNCHER_RUN_ROUND_TOGETHER_H

#include "launcher/run/state/round_driver.h"

extern const struct round_driver together_driver;

#endif
