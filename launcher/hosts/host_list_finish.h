/* SPDX-License-Identifier: MIT */
/* host_list_finish.h: the last step of every reader of hosts: hosts listed more than once become
 * one. */
#ifndef LAUNCHER_HOSTS_HOST_LIST_FINISH_H
#define LAUNCHER_HOSTS_HOST_LIST_FINISH_H

#include "launcher/hosts/host_list.h"

/* `rc` is what the reader has to return so far. If it is 0, repeated entries of a host become one
 * with the slots of all: ML_ERR_ARGUMENT if their wiring, env or cwd differ. On success `l` goes to
 * *out; on any failure it is destroyed (NULL is allowed). Returns the final code. */
int host_list_finish(struct host_list **out, struct host_list *l, int rc, struct fault *why);

#endif
