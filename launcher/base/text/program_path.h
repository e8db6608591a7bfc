/* SPDX-License-Identifier: MIT */
/* program_path.h: finds a program as a shell does, and as ranks do. */
#ifndef LAUNCHER_BASE_TEXT_PROGRAM_PATH_H
#define LAUNCHER_BASE_TEXT_PROGRAM_PATH_H

#include "common/fault.h"

#include <limits.h>
#include <stdbool.h>

/* Stores `name` itself in *out if it contains a '/', otherwise the program's path from PATH. The
 * caller frees it. ML_ERR_REFUSED: there is no such executable file. */
int program_path_find(char **out, const char *name, struct fault *why);

/* The file that a rank in the directory `cwd`, whose PATH is `path`, executes as `name`: with a '/'
 * in it that file, whether it is there or not. False: PATH has no such executable file. */
bool program_path_of_rank(char out[PATH_MAX], const char *name, const char *path, const char *cwd);

/* Whether a rank gives a file of this name to python3: a Python script need be neither executable
 * nor in PATH. */
bool program_path_is_python(const char *name);

#endif
