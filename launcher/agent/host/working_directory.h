/* SPDX-License-Identifier: MIT */
/* working_directory.h: where ranks of this host start. */
#ifndef LAUNCHER_AGENT_HOST_WORKING_DIRECTORY_H
#define LAUNCHER_AGENT_HOST_WORKING_DIRECTORY_H

#include "common/fault.h"

#include <stdbool.h>

/* Whether this user can start a process there. */
bool working_directory_is_there(const char *path);

/* Where ranks start if the caller's directory is not there. */
const char *working_directory_home(void);

/* `cwd`: the caller's directory on the first machine, or "". `named`: what the user has named for
 * these ranks, which may be relative to `cwd`; or "". Stores in *out, which the caller frees, the
 * named one; else `cwd` if it is here, or the home directory. ML_ERR_SYSTEM: the named one cannot
 * be used; ML_ERR_MEMORY. */
int working_directory_choose(char **out, const char *cwd, const char *named, struct fault *why);

#endif
