/* SPDX-License-Identifier: MIT */
/* slurm_list.h: Slurm's short forms written out. */
#ifndef LAUNCHER_SLURM_LIST_H
#define LAUNCHER_SLURM_LIST_H

#include "common/fault.h"
#include "launcher/string_list.h"

/* "gpu[01-03,7],login" → gpu01 gpu02 gpu03 gpu7 login; several brackets in a name work too. At most
 * `limit`. */
int slurm_expand_hosts(struct string_list *out, const char *text, size_t limit, struct fault *why);

/* "4(x3),2" → 4 4 4 2: exactly `count` numbers; a single one serves all. *out is owned by the
 * caller. */
int slurm_expand_counts(int **out, size_t count, const char *text, struct fault *why);

#endif
