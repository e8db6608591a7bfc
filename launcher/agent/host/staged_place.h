/* SPDX-License-Identifier: MIT */
/*
 * staged_place.h: where this host keeps its copy of the directory of --stage-env, in the job
 * directory, with which it is removed. mlaunch-copier writes it there.
 */
#ifndef LAUNCHER_AGENT_HOST_STAGED_PLACE_H
#define LAUNCHER_AGENT_HOST_STAGED_PLACE_H

#include "common/fault.h"
#include "launcher/agent/host/job_directory.h"

#include <limits.h>
#include <stdbool.h>

struct staged_place {
    const char *path;                       /* the original's */
    char directory[JOB_DIRECTORY_PATH + 8]; /* in which the copy is */
    char copy[JOB_DIRECTORY_PATH + NAME_MAX + 16];
    bool is_whole;
    bool is_seen; /* the ranks see it in the place of the original */
};

/* Makes the directory for a copy of `mib` MiB that is called `name`. `path` must outlive it. The
 * caller frees it. ML_ERR_SYSTEM: there is no room, or programs there cannot be executed. */
int staged_place_open(struct staged_place **out, const char *job_dir, const char *path,
                      const char *name, int mib, struct fault *why);

/* How the ranks call the copy. */
const char *staged_place_shown(const struct staged_place *p);

/* The copy's path of a program in the original, which the caller frees; NULL: it is not there, or
 * without memory. `cwd`: where a relative path begins. */
char *staged_place_program(const struct staged_place *p, const char *cwd, const char *program);

#endif
