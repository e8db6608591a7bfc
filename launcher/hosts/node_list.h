/* SPDX-License-Identifier: MIT */
/* node_list.h: Slurm's short forms of host names and of numbers a host, written out. */
#ifndef LAUNCHER_HOSTS_NODE_LIST_H
#define LAUNCHER_HOSTS_NODE_LIST_H

#include "common/fault.h"
#include "launcher/text/string_list.h"

/* "gpu[01-03,7],n[1-2]-ib,r[a-b][1-2],login" → gpu01 gpu02 gpu03 gpu7 n1-ib n2-ib ra1 ra2 rb1 rb2
 * login. At most `limit` names. ML_ERR_ARGUMENT: the sentence quotes the name at fault. */
int node_list_expand(struct string_list *out, const char *text, size_t limit, struct fault *why);

/* "4(x3),2" → 4 4 4 2: exactly `count` numbers; a single one serves all. *out is owned by the
 * caller. */
int node_list_counts(int **out, size_t count, const char *text, struct fault *why);

#endif
