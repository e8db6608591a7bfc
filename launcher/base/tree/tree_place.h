/* SPDX-License-Identifier: MIT */
/*
 * tree_place.h: the way to the directories below one directory. No name on it is followed if it is
 * a link, so whatever a tree holds, nothing outside of that directory is reached.
 */
#ifndef LAUNCHER_BASE_TREE_TREE_PLACE_H
#define LAUNCHER_BASE_TREE_TREE_PLACE_H

#include "launcher/base/tree/tree_list.h"

struct tree_place {
    int root;                      /* the directory; not owned */
    int fd;                        /* the one that was gone to last, or -1 */
    char path[TREE_PATH_MOST + 1]; /* where that one is */
};

void tree_place_open(struct tree_place *p, int root);
/* Forgets where it has gone. It stays open, for directories that may have another meaning now. */
void tree_place_close(struct tree_place *p);

/* Returns a descriptor of the directory that holds `path`, which is in order (tree_list.h), valid
 * until the next call; *name becomes the last name of `path`. -1 with errno: ELOOP or ENOTDIR: one
 * of the directories is something else there. */
int tree_place_go(struct tree_place *p, const char *path, const char **name);
/* Raises the soft limit of descriptors, as far as the hard one lets it, so that all directories of
 * a path can be open at a time. */
void tree_place_allow_depth(void);

#endif
