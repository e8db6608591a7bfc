/* SPDX-License-Identifier: MIT */
/*
 * place_lock.h: who uses a directory or a file in /tmp or /dev/shm holds a shared lock on it
 * (flock) as long as it lives, and who removes what another may use looks first whether one is
 * held. Processes of other containers see the lock, which do not see each other's pids and files;
 * and systemd-tmpfiles leaves a directory that is locked alone, with all that is in it.
 */
#ifndef LAUNCHER_BASE_MACHINE_PLACE_LOCK_H
#define LAUNCHER_BASE_MACHINE_PLACE_LOCK_H

#include <stdbool.h>

/* Locks a directory of this user's, or a plain file, which is made. The descriptor, whose close
 * ends the lock once no process has a copy of it; -1: that is not possible now. Never waits. */
int place_lock_directory(const char *path);
int place_lock_file(const char *path);

/* Closes *lock if it is not -1, which it becomes. */
void place_lock_drop(int *lock);

/* Whether what is locked still has a name. False for -1, too. */
bool place_lock_is_there(int lock);

/* Whether a process holds a lock on the directory or plain file `name` in the directory `at`. */
bool place_lock_is_held(int at, const char *name);

/* For who removes it: false if a process holds a lock on it. Else nobody can take one until *lock,
 * which is -1 where nothing can be locked, is dropped. */
bool place_lock_exclude(int *lock, int at, const char *name);

#endif
