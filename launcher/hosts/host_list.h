/* SPDX-License-Identifier: MIT */
/* host_list.h: the hosts that a user named, in order, by -H, a hostfile or an allocation. */
#ifndef LAUNCHER_HOSTS_HOST_LIST_H
#define LAUNCHER_HOSTS_HOST_LIST_H

#include "common/fault.h"

#include <stdbool.h>

/* How the host's agent is started. */
enum host_way { HOST_BY_SSH, HOST_IS_HERE, HOST_BY_SRUN, HOST_BY_COMMAND };

struct host {
    char *name; /* without user, port, slots and brackets: in messages, ml_host(), known to ssh */
    char *user; /* or NULL */
    int port;   /* 0: ssh_config's, or 22 */
    bool is_local;     /* this machine, which needs no SSH */
    enum host_way way; /* settled with the plan */
    char *node;        /* Slurm's name of it, inside of the Slurm job that we are in; else NULL */
    int slots;         /* 0: unstated */
    char **ips;        /* NULL-terminated literal addresses; may be empty */
    char **env;        /* NULL-terminated NAME=VALUE, the hostfile's, shared then the host's own */
    char *cwd;         /* or NULL */
    /* rdma[j]: NULL-terminated device names towards host j; an empty list where there is none. NULL
     * as a whole: no row. */
    char ***rdma;
    int rdma_count;
};

struct host_list {
    struct host *hosts;
    int count;
    char *backend; /* the hostfile's "backend", or NULL */
    char *source;  /* "hostfile h.json", "-H", "this machine": for messages */
};

/* Parses -H's "a,b:4,[::1]:2,user@c". Names that could pass for an option or hold control
 * characters, and empty ones, are refused. A host named twice offers its slots twice. */
int host_list_parse(struct host_list **out, const char *text, struct fault *why);

/* Reads a hostfile, JSON or text by its first non-blank byte, and validates it (DESIGN of the file:
 * hostfile(5)). Each message names file, host and the entry at fault. */
int hostfile_read(struct host_list **out, const char *path, struct fault *why);

/* This machine alone, with unstated slots. */
int host_list_local(struct host_list **out, struct fault *why);

/* Every pair of hosts has a device both ways; else ML_ERR_ARGUMENT naming the pair. */
int host_list_check_wiring(const struct host_list *l, struct fault *why);

void host_list_destroy(struct host_list *l); /* takes NULL */

#endif
