/* SPDX-License-Identifier: MIT */
/* received_libraries.h: which libraries of a program that is copied to this host the host lacks. */
#ifndef LAUNCHER_AGENT_RANK_RECEIVED_LIBRARIES_H
#define LAUNCHER_AGENT_RANK_RECEIVED_LIBRARIES_H

#include "common/fault.h"
#include "launcher/wire/protocol/job_spec.h"

#include <stdbool.h>

/* Sets is_wanted[i] for each file i of the job that is a library of the program of `app`, and that
 * the loader would not find here. `dir` is where the program's copy will lie, `cwd` the ranks'
 * working directory. ML_ERR_REFUSED: the program, or such a library, needs a newer glibc. */
int received_libraries_find(bool *is_wanted, const struct job_spec *job, const struct job_app *app,
                            const char *dir, const char *cwd, struct fault *why);

#endif
