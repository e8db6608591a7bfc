/* SPDX-License-Identifier: MIT */
/* allocation_system.h: one row of allocation.c for each batch system, and what its readers share.
 * Those with a file of hosts are read here: PBS, SGE, OAR and Cobalt. */
#ifndef LAUNCHER_INPUT_HOSTS_ALLOCATION_SYSTEM_H
#define LAUNCHER_INPUT_HOSTS_ALLOCATION_SYSTEM_H

#include "launcher/input/hosts/host_list.h"

#include <stdint.h>

struct allocation_system {
    const char *name;         /* "Slurm" */
    const char *job_variable; /* holds the job's number, for messages */
    /* It names hosts to jobs of one host too, so that a job without hosts has lost them. */
    bool is_always_listed;
    /* NULL-terminated. Inside an allocation one of them is set and not empty. */
    const char *const *variables;
    /* Adds the hosts of the allocation with their slots; a host may be added several times. The
     * message of a failure begins with the variable at fault. */
    int (*read)(struct host_list *l, char *const *environment, struct fault *why);
};

extern const struct allocation_system allocation_system_pbs, allocation_system_sge;
extern const struct allocation_system allocation_system_oar, allocation_system_cobalt;
extern const struct allocation_system allocation_slurm, allocation_lsf;

/* Returns the value of the first of `names` that is set and not empty, and stores its name in *name
 * (which may be NULL); NULL if there is none. */
const char *allocation_system_find(char *const *environment, const char *const *names,
                                   const char **name);

/* Adds one host. `node`: `name` is also the name by which srun knows it. */
int allocation_system_add(struct host_list *l, const char *name, int64_t slots, bool node,
                          struct fault *why);

/* Adds the hosts of the file at `path`, one a line. With `has_slots` a line is "host slots …", else
 * a host has a line for each of its slots. `variable` is where the path came from, for messages. */
int allocation_system_add_lines(struct host_list *l, const char *variable, const char *path,
                                bool has_slots, struct fault *why);

#endif
