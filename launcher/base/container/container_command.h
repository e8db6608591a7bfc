/* SPDX-License-Identifier: MIT */
/* container_command.h: the command that runs one rank in a container: the user's words, and what
 * mlaunch adds to them. */
#ifndef LAUNCHER_BASE_CONTAINER_CONTAINER_COMMAND_H
#define LAUNCHER_BASE_CONTAINER_CONTAINER_COMMAND_H

#include "launcher/base/container/container_program.h"

#include <sys/resource.h>
#include <sys/types.h>

struct container_mounts {
    const char *job_dir; /* where the rank finds what the job has for it */
    const char *cwd;     /* its working directory */
    const char *devices; /* "/dev/infiniband", or NULL if the host has no RDMA devices */
};

struct container_identity {
    const char *job, *name; /* the label's value, and the container's name */
    uid_t user;
    gid_t group;
    struct rlimit files, processes, locked; /* the limits of ranks without a container */
};

/* Makes the words, NULL-terminated, for strings_free(); `run` is what runs inside. ML_ERR_MEMORY */
int container_command_create(char ***out, const struct container_program *p, char *const *words,
                             const struct container_mounts *mounts,
                             const struct container_identity *identity, const char *const *run,
                             struct fault *why);

/* The words that remove containers, before their names; none if they end by themselves. */
int container_command_removal(char ***out, const struct container_program *p, char *const *words,
                              struct fault *why);

/* Whether the directory has to be mounted: it is not below one that the program mounts anyway, nor
 * one of the system's, which would hide the image's own. */
bool container_command_mounts(const struct container_program *p, const char *directory);

#endif
