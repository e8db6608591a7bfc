/* SPDX-License-Identifier: MIT */
/* env_directory.h: the directory of --stage-env. */
#ifndef LAUNCHER_INPUT_VALUES_ENV_DIRECTORY_H
#define LAUNCHER_INPUT_VALUES_ENV_DIRECTORY_H

#include "common/fault.h"

/* Stores its absolute path in *out, below `cwd` if `named` is relative. It keeps the links that the
 * user names it by, since the files in it do so, too. The caller frees it. ML_ERR_ARGUMENT: it is
 * no directory, or cannot be sent to hosts; ML_ERR_MEMORY. */
int env_directory_find(char **out, const char *named, const char *cwd, struct fault *why);

#endif
