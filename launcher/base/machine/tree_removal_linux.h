/* SPDX-License-Identifier: MIT */
/*
 * tree_removal_linux.h: removes what this user has made, in places where others may write. Each
 * part of a path is opened in the directory above it, without following a link, and all decisions
 * are about what was opened: whoever exchanges names meanwhile leads the removal nowhere else.
 *
 * What is mounted in a tree stays with all that is in it, and so do the directories above it. That
 * is told by the mount, not by the device, which a bind mount keeps.
 */
#ifndef LAUNCHER_BASE_MACHINE_TREE_REMOVAL_LINUX_H
#define LAUNCHER_BASE_MACHINE_TREE_REMOVAL_LINUX_H

#include <stdbool.h>

/* Removes `name` in the directory `at`, a descriptor, if it belongs to this user: a directory with
 * all that is in it, whatever its permissions are, as far as that can be removed. Within a
 * directory of another user, which this user's may contain, only what is that one's is removed.
 * False, with errno: it is still there; EPERM: it is not this user's. */
bool tree_removal_run(int at, const char *name);

/* The same by a path, whose last part is no link. The directory that it is in must be this user's,
 * or one where each may remove only what is theirs, as in /tmp. */
bool tree_removal_run_path(const char *path);

/* Removes only what is in the directory at `path`, but for the name `spared` in it. False, with
 * errno: something else is left, or `path` is no directory of this user's. */
bool tree_removal_empty(const char *path, const char *spared);

#endif
