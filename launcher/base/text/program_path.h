/* SPDX-License-Identifier: MIT */
/* program_path.h: finds a program as a shell does. */
#ifndef LAUNCHER_BASE_TEXT_PROGRAM_PATH_H
#define LAUNCHER_BASE_TEXT_PROGRAM_PATH_H

#include "common/fault.h"

/* Stores `name` itself in *out if it contains a '/', otherwise the program's path from PATH. The
 * caller frees it. ML_ERR_REFUSED: there is no such executable file. */
int program_path_find(char **out, const char *name, struct fault *why);

#endif
