/* SPDX-License-Identifier: MIT */
/* host_list.h: the hosts of -H, a hostfile or an allocation, in their order. */
#ifndef LAUNCHER_INPUT_HOSTS_HOST_LIST_H
#define LAUNCHER_INPUT_HOSTS_HOST_LIST_H

#include "common/fault.h"

#include <stdbool.h>

enum {
    HOSTS_LIMIT = 65536,   /* in one list */
    SLOTS_LIMIT = 1 << 20, /* on one host */
};

/* How the host's agent is started. */
enum launch_method {
    LAUNCH_METHOD_SSH,
    LAUNCH_METHOD_LOCAL,
    LAUNCH_METHOD_SRUN,
    LAUNCH_METHOD_COMMAND,
    LAUNCH_METHOD_JOIN,
    LAUNCH_METHOD_HEAD /* it runs already: the mlaunch of its job passes questions on */
};

struct host {
    char *name;       /* as ssh and ml_host() have it: without user, port, slots and brackets */
    char *user;       /* or NULL */
    int port;         /* 0: that of ssh_config, or 22 */
    char *ssh_config; /* instead of --ssh-config's file for this host; or NULL */
    bool is_local;    /* this machine: needs no SSH */
    bool is_settled;  /* `env` is what the plan has for it */
    bool is_added;    /* by mlaunch grow; if the job does not use it, it did not come */
    enum launch_method launch_method; /* set by launch_method.h */
    int join_index;                   /* its index among those that call, if they do */
    char *door;    /* the socket of the mlaunch that it has joined, for questions; or NULL */
    char *node;    /* its name in the Slurm job that mlaunch runs in; else NULL */
    int component; /* its place in that job, from 1, if that is a heterogeneous one; else 0 */
    int slots;     /* 0: unstated */
    int max_slots; /* the most ranks, with --oversubscribe too; 0: any number */
    int spare;     /* its place in --spare-hosts, from 1; 0: it is no spare */
    char **ips;    /* NULL-terminated literal addresses; may be empty */
    char **env;    /* NULL-terminated NAME=VALUE of the hostfile; the later one wins */
    char *cwd;     /* or NULL */
    /* rdma[j] holds the names of the devices towards host j, NULL-terminated, maybe none. rdma is
     * NULL if nothing is stated about the host. */
    char ***rdma;
    int rdma_count;
};

struct host_list {
    struct host *hosts;
    int count, room;
    char *backend; /* the hostfile's "backend", or NULL */
    char *source;  /* "h.json", "--hosts", "this machine": for messages */
};

/* An empty list; `source` is copied. ML_ERR_MEMORY. */
int host_list_create(struct host_list **out, const char *source, struct fault *why);
void host_list_destroy(struct host_list *l); /* takes NULL */

/* This machine alone, with unstated slots. */
int host_list_local(struct host_list **out, struct fault *why);

/* Appends `h`, whose contents then belong to the list and which is empty afterwards; on failure the
 * contents stay the caller's. Fills in is_local, and gives ips and env empty lists if they are
 * NULL. ML_ERR_ARGUMENT: the list is full. */
int host_list_add(struct host_list *l, struct host *h, struct fault *why);

/* The next `more` hosts can be added while the others stay where they are. ML_ERR_MEMORY. */
int host_list_reserve(struct host_list *l, int more, struct fault *why);

/* Frees the contents of a host that is in no list. */
void host_list_clear_host(struct host *h);

/* Returns the name of the method, for messages: "SSH", "srun". */
const char *host_list_launch_method(enum launch_method launch_method);

/* True if the host states an RDMA device towards host `to` of its list. */
bool host_list_has_wire(const struct host *from, int to);

/* ML_ERR_ARGUMENT names the first pair of hosts, spare ones aside, of which one has no RDMA device
 * towards the other. */
int host_list_check_wiring(const struct host_list *l, struct fault *why);

#endif
