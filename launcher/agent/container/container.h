/* SPDX-License-Identifier: MIT */
/*
 * container.h: --container: one container for each rank of this host. A rank's command becomes the
 * user's words, what mlaunch adds to them, and mlaunch-entry, which becomes the rank's program:
 *
 *     agent ──▶ podman ──▶ conmon ──▶ mlaunch-entry ──▶ program       another process starts it
 *     agent ──▶ bwrap, ch-run, apptainer ═══▶ mlaunch-entry ═══▶ program      one process
 */
#ifndef LAUNCHER_AGENT_CONTAINER_CONTAINER_H
#define LAUNCHER_AGENT_CONTAINER_CONTAINER_H

#include "common/fault.h"
#include "launcher/wire/protocol/job_spec.h"

#include <stdbool.h>
#include <sys/types.h>

struct container;
struct event_base;
struct spawn;

struct container_config {
    struct event_base *base;
    const struct job_spec *job; /* whose options have the user's words */
    const char *job_dir;
    bool has_shim, has_bench; /* the library is preloaded; the job runs mlaunch-bench */
};

/* Copies mlaunch's files into the job's directory, and listens there. ML_ERR_ARGUMENT: the user's
 * words cannot be used; ML_ERR_SYSTEM: a file is missing. */
int container_open(struct container **out, const struct container_config *config,
                   struct fault *why);
void container_close(struct container *c); /* takes NULL */

/* Paths of the copies; "" if the config has none. */
const char *container_shim(const struct container *c);
const char *container_modules(const struct container *c);
const char *container_bench(const struct container *c);

/* Whether the agent's child is not the container's program, but asks another process for it: then a
 * signal to all descendants would reach a rank more than once. */
bool container_is_apart(const struct container *c);

/* The process that is the rank's program, in or before it; 0: not known (yet). Where the agent's
 * child waits for it, as bwrap does, it is another one. */
pid_t container_process(const struct container *c, int index);

/* What was changed of a rank's spawn. */
struct container_rank {
    char **argv; /* the container's command */
    char **env;  /* that of the container's program: without what is preloaded */
};

/* Lets `s`, which is complete, start the rank in its container. `out` is for
 * container_rank_release() once the process is there, also on failure. ML_ERR_SYSTEM: the image
 * lacks a directory, or a file cannot be written. */
int container_rank_prepare(struct container *c, int index, struct spawn *s,
                           struct container_rank *out, struct fault *why);
void container_rank_release(struct container_rank *r);

/* The rank's first process has ended with this status of waitpid, or (-1) was not started. Stores
 * why its program could not be executed; "": it was. Unless `is_in_order`, what it leaves is
 * removed with the job's directory. */
void container_rank_ended(struct container *c, int index, int status, bool is_in_order, char *text,
                          size_t size);

#endif
