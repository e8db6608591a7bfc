/* SPDX-License-Identifier: MIT */
/* launcher_end.h: ends a job through its mlaunch, which runs on this machine (job_register.h). */
#ifndef LAUNCHER_COMMANDS_LAUNCHER_END_H
#define LAUNCHER_COMMANDS_LAUNCHER_END_H

#include "launcher/base/machine/job_register.h"

/* Asks that mlaunch for the end of its job as SIGTERM at its terminal would, for SIGKILL if the
 * job's grace has passed, and waits until it has ended. ML_ERR_STATE: it has not. */
int launcher_end(const struct register_found *f, struct fault *why);

/* Only asks the job to stop by itself (soft_stop.h), and does not wait. ML_ERR_STATE: it has
 * ended. */
int launcher_ask(const struct register_found *f, struct fault *why);

#endif
