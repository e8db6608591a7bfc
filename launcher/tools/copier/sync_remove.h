/* SPDX-License-Identifier: MIT */
/* sync_remove.h: what a host has in the listed directories besides the list. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_REMOVE_H
#define LAUNCHER_TOOLS_COPIER_SYNC_REMOVE_H

#include "launcher/tools/copier/sync_copy.h"

/* Calls `visit` with each name that is not in the list, nor excluded, nor a temporary one. `fd` is
 * its directory. ML_ERR_MEMORY, or what `visit` returns. */
int sync_remove_visit(struct sync_copy *c,
                      int (*visit)(void *arg, int root, int fd, const char *name, const char *path),
                      void *arg, struct fault *why);

/* Removes `name` in the directory `fd`, with all that is in it but for what is excluded; `path`
 * ends with `name`. Reports what fails, and counts what it removes. */
void sync_remove_tree(struct sync_copy *c, int root, int fd, const char *name, const char *path);

#endif
