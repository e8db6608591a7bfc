/* SPDX-License-Identifier: MIT */
/* container_files.h: what ranks need of mlaunch's own files, as copies in the job's directory, the
 * one directory that is the same in each container: the library, the Python package, mlaunch-entry.
 */
#ifndef LAUNCHER_AGENT_CONTAINER_CONTAINER_FILES_H
#define LAUNCHER_AGENT_CONTAINER_CONTAINER_FILES_H

#include "common/fault.h"

#include <limits.h>
#include <stdbool.h>

struct container_files {
    char entry[PATH_MAX];   /* mlaunch-entry's copy */
    char shim[PATH_MAX];    /* "": nothing is preloaded */
    char modules[PATH_MAX]; /* the Python package's directory; "" likewise */
    char bench[PATH_MAX];   /* "" unless the job runs it */
};

/* ML_ERR_SYSTEM: a file is missing, or cannot be copied. */
int container_files_copy(struct container_files *out, const char *job_dir, bool has_shim,
                         bool has_bench, struct fault *why);

#endif
