/* SPDX-License-Identifier: MIT */
/*
 * user_directory.h: /tmp/mlaunch-UID, which holds what the user's agents and mlaunch processes on
 * this machine keep while they run. Job directories may be in another one, below --tmpdir or
 * $TMPDIR; this one then has a link to each, so that ps finds it.
 * Where that name is anything but a directory of the user's that is closed to others, there is
 * one beside it, mlaunch-UID.XXXXXX: another user who takes the first name cannot know the second.
 */
#ifndef LAUNCHER_BASE_MACHINE_USER_DIRECTORY_H
#define LAUNCHER_BASE_MACHINE_USER_DIRECTORY_H

#include "common/fault.h"

#include <stddef.h>

enum { USER_DIRECTORY_PATH = 192 }; /* bytes for the longest path, terminated */

/* The length of "mlaunch-UID" or "mlaunch-UID.XXXXXX", with which `name` begins; 0: it begins with
 * neither. */
size_t user_directory_length(const char *name);

/* Where it is looked for, whatever $TMPDIR is; NULL at the end. */
extern const char *const user_directory_bases[];
/* The first of them in which this process can make a file: "/tmp", or "/dev/shm" where /tmp is
 * read-only. */
const char *user_directory_base(void);

/* Calls `found` with the path of each such name in `base`, of all users, until it returns another
 * code than 0, which is then the result. ML_ERR_SYSTEM: `base` cannot be read. */
typedef int user_directory_found(const char *path, void *arg, struct fault *why);
int user_directory_each(const char *base, user_directory_found *found, void *arg,
                        struct fault *why);

/* The same for those of this process's user that are closed to others: of the first name alone
 * where that is one. Takes no more time however many names others have put beside it, so it may
 * then miss a second one. */
int user_directory_each_own(const char *base, user_directory_found *found, void *arg,
                            struct fault *why);

/* Makes the directory (0700) if it is missing. `base` is "/tmp" (in tests another). It is removed
 * with rmdir(), by whoever takes the last thing out of it, so that it may be gone a moment later.
 * ML_ERR_SYSTEM. */
int user_directory_make(char path[USER_DIRECTORY_PATH], const char *base, struct fault *why);

/* Removes `name`, which is no directory, or NULL, from the directory at `path`, and the directory
 * if nothing else is in it; neither if it is another user's. */
void user_directory_leave(const char *path, const char *name);

#endif
