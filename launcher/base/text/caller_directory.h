/* SPDX-License-Identifier: MIT */
/* caller_directory.h: the directory in which the user has called mlaunch. */
#ifndef LAUNCHER_BASE_TEXT_CALLER_DIRECTORY_H
#define LAUNCHER_BASE_TEXT_CALLER_DIRECTORY_H

#include "common/fault.h"

/* Stores its path, as the user knows it ($PWD, with symbolic links), in *out, because other hosts
 * are more likely to have that path; "", with a warning, if the directory was removed or its name
 * cannot be sent to the hosts. The caller frees it. ML_ERR_MEMORY. */
int caller_directory_find(char **out, struct fault *why);

#endif
