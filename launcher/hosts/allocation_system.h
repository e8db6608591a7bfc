/* SPDX-License-Identifier: MIT */
/* allocation_system.h: what each batch system's reader (allocation_*.c) brings to allocation.c. */
#ifndef LAUNCHER_HOSTS_ALLOCATION_SYSTEM_H
#define LAUNCHER_HOSTS_ALLOCATION_SYSTEM_H

#include "launcher/hosts/host_list.h"

#include <stdint.h>

struct allocation_system {
    const char *name;         /* "Slurm" */
    const char *job_variable; /* its job's number, for messages */
    /* One of these is set and not empty inside an allocation; NULL ends them. */
    const char *const *variables;
    /* Adds the allocation's hosts with their slots; a host may come several times. A sentence of
     * a failure begins with the variable at fault. */
    int (*read)(struct host_list *l, char *const *environment, struct fault *why);
};

extern const struct allocation_system allocation_system_pbs, allocation_system_sge;
extern const struct allocation_system allocation_slurm, allocation_lsf;

/* For the readers. The first of `names` that is set and not empty: its value, and its name in
 * *name (may be NULL); or NULL. */
const char *allocation_system_find(char *const *environment, const char *const *names,
                                   const char **name);

/* Adds one host. `node`: srun knows it by its name. */
int allocation_system_add(struct host_list *l, const char *name, int64_t slots, bool node,
                          struct fault *why);

/* Adds the hosts of a file with one host a line. With `has_slots` a number of slots stands behind
 * it, else a host stands there once for each of its slots. `variable` named the file. */
int allocation_system_add_lines(struct host_list *l, const char *variable, const char *path,
                                bool has_slots, struct fault *why);

#endif
