/* SPDX-License-Identifier: MIT */
/* host_list_finish.h: the last step of every reader of hosts: hosts listed more than once become
 * one. */
#ifndef LAUNCHER_INPUT_HOSTS_HOST_LIST_FINISH_H
#define LAUNCHER_INPUT_HOSTS_HOST_LIST_FINISH_H

#include "launcher/input/hosts/host_list.h"

/* `rc` is what the reader has to return so far. If it is 0, repeated entries of a host become one
 * with the slots of all: ML_ERR_ARGUMENT if their wiring, env or cwd differ. On success `l` goes to
 * *out; on any failure it is destroyed (NULL is allowed). Returns the final code. */
int host_list_finish(struct host_list **out, struct host_list *l, int rc, struct fault *why);

/* The index of the host of `l` that `h`, from another list, names, of that user (NULL: any); -1:
 * there is none. */
int host_list_finish_find(const struct host_list *l, const struct host *h, const char *user);

/* Leaves of the hosts of a hostfile those that `only`, the list of -H, names, in the hostfile's
 * order. Slots that `only` states replace the hostfile's. ML_ERR_ARGUMENT: one of them is not in
 * it. Hosts of `spares` (NULL or a list) are left as well, and need not be in it. */
int host_list_finish_filter(struct host_list *l, const struct host_list *only,
                            const struct host_list *spares, struct fault *why);

/* Removes the hosts of `out`. ML_ERR_ARGUMENT: one of them is not in `l`, or none is left. */
int host_list_finish_exclude(struct host_list *l, const struct host_list *out, struct fault *why);

/* ML_ERR_ARGUMENT: a host is in both lists, -H's and that of the spare ones. */
int host_list_finish_check_apart(const struct host_list *l, const struct host_list *spares,
                                 struct fault *why);

/* Sets host.spare of the hosts of `l` that are also in `spares`, and moves the others to `l`. Slots
 * that `spares` states replace those of `l`. ML_ERR_ARGUMENT: no other host is left. */
int host_list_finish_spares(struct host_list *l, struct host_list *spares, struct fault *why);

#endif
