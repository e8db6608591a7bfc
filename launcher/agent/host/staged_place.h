/* SPDX-License-Identifier: MIT */
/*
 * staged_place.h: where this host has its copy of the directory of --stage-env, which
 * mlaunch-copier writes: in the job directory, with which it is removed, or with --stage-cache in
 * CACHE/VERSION/NAME, where the next job finds it. While it is written there it has another name
 * (JOB_DIRECTORY_UNFINISHED), to which the job directory has a link, so that whoever removes the
 * job directory removes it, too. Whoever uses a copy or writes one has a shared lock on the
 * directory above it; whoever has an exclusive one may remove it.
 */
#ifndef LAUNCHER_AGENT_HOST_STAGED_PLACE_H
#define LAUNCHER_AGENT_HOST_STAGED_PLACE_H

#include "common/fault.h"
#include "launcher/agent/host/job_directory.h"

#include <limits.h>
#include <stdbool.h>

struct staged_place_config {
    const char *job_dir, *path;  /* the original's */
    const char *name;            /* the copy's */
    int mib;                     /* how large it will be */
    const char *cache, *version; /* "": it is not kept. VERSION is "PATH.TREE" */
};

struct staged_place {
    const char *path;                       /* the original's */
    const char *name, *cache, *version;     /* as in the configuration, but without links */
    char *real_cache;                       /* which is what `cache` is then */
    char directory[JOB_DIRECTORY_PATH + 8]; /* in which the copy is */
    char copy[JOB_DIRECTORY_PATH + NAME_MAX + 16];
    int lock;     /* with a cache: on the directory; else -1 */
    bool is_kept; /* the copy was there before */
    bool is_whole;
    bool is_seen; /* the ranks see it in the place of the original */
};

/* Finds the copy, or makes the directory for it. The configuration's texts must outlive it.
 * ML_ERR_SYSTEM: there is no room, programs there cannot be executed, or the cache is not the
 * user's. */
int staged_place_open(struct staged_place **out, const struct staged_place_config *config,
                      struct fault *why);
/* The copy has been written: gives it the name by which others find it. ML_ERR_SYSTEM. */
int staged_place_settle(struct staged_place *p, struct fault *why);
/* Lets go of it, and removes what the cache has of other versions and nobody uses. A copy that is
 * not whole is removed with the job directory. Takes NULL. */
void staged_place_close(struct staged_place *p);

/* How the ranks call the copy. */
const char *staged_place_shown(const struct staged_place *p);

/* The copy's path of a program in the original, which the caller frees; NULL: it is not there, or
 * without memory. `cwd`: where a relative path begins. */
char *staged_place_program(const struct staged_place *p, const char *cwd, const char *program);

#endif
