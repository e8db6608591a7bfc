/* SPDX-License-Identifier: MIT */
/* tree_exclude.h: which names --exclude leaves out. */
#ifndef LAUNCHER_BASE_TREE_TREE_EXCLUDE_H
#define LAUNCHER_BASE_TREE_TREE_EXCLUDE_H

#include <stdbool.h>

/* `patterns` ends with NULL, and may be NULL. `path`: "NAME/…" below a PATH's parent; NAME itself
 * is never left out. A pattern without a slash is one for the last name; with one, for the path
 * below NAME; with a slash at its end, for directories only. */
bool tree_exclude_has(char *const *patterns, const char *path, bool is_directory);

#endif
