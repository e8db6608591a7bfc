/* SPDX-License-Identifier: MIT */
/* tree_path.h: the path of a tree as a user writes it, made plain. */
#ifndef LAUNCHER_BASE_TREE_TREE_PATH_H
#define LAUNCHER_BASE_TREE_TREE_PATH_H

#include <stdbool.h>

/* Removes "//", "/./" and what is behind the last name of an absolute path; "/" becomes "". Returns
 * whether a name is "..", which stays, as what it leads to depends on links. */
bool tree_path_tidy(char *path);

#endif
