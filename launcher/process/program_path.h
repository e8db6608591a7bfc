/* SPDX-License-Identifier: MIT */
/* program_path.h: a program as a shell would find it. */
#ifndef LAUNCHER_PROCESS_PROGRAM_PATH_H
#define LAUNCHER_PROCESS_PROGRAM_PATH_H

#include "common/fault.h"

/* *out: `name` itself if it holds a '/', else where PATH has it; owned by the caller.
 * ML_ERR_REFUSED: nothing executable is there. */
int program_path_find(char **out, const char *name, struct fault *why);

#endif
