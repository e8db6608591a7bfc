/* SPDX-License-Identifier: MIT */
/* node_list.h: expands the short forms in which Slurm writes host names and numbers per host. */
#ifndef LAUNCHER_INPUT_HOSTS_NODE_LIST_H
#define LAUNCHER_INPUT_HOSTS_NODE_LIST_H

#include "common/fault.h"
#include "launcher/base/text/string_list.h"

/* "gpu[01-03,7],n[1-2]-ib,r[a-b][1-2],login" → gpu01 gpu02 gpu03 gpu7 n1-ib n2-ib ra1 ra2 rb1 rb2
 * login. ML_ERR_ARGUMENT: there are more than `limit` names, or the quoted one cannot be parsed. */
int node_list_expand(struct string_list *out, const char *text, size_t limit, struct fault *why);

/* Returns the end of the name at `text`: a ',' outside brackets, or the end of the text. */
const char *node_list_end(const char *text);

/* "4(x3),2" → 4 4 4 2. There must be `count` numbers, or a single one, which is used for all hosts.
 * *out is an array of `count`, owned by the caller. */
int node_list_counts(int **out, size_t count, const char *text, struct fault *why);

#endif
