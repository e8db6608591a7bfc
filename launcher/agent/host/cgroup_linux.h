/* SPDX-License-Identifier: MIT */
/*
 * cgroup_linux.h: a control group (version 2) for a host's ranks, where this user may make one
 * below the agent's own: as root, or where systemd or a container has delegated it. The kernel then
 * kills all processes in it at once, faster than any of them can fork, and processes that are left
 * over can be recognized by it, whatever they did to their environment and parents. Without a
 * group, parentage and the mark in the environment serve alone.
 *
 * Its name is made from the job directory's: mlaunch-0-JOB.HOST.XXXXXX for
 * /tmp/mlaunch-0/JOB.HOST.XXXXXX.
 */
#ifndef LAUNCHER_AGENT_HOST_CGROUP_LINUX_H
#define LAUNCHER_AGENT_HOST_CGROUP_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CGROUP_PATH = 1024 }; /* bytes for the longest path, terminated */

/* The path of this process's own group; "": there is none, or groups are not mounted. */
void cgroup_find_own(char path[CGROUP_PATH]);

/* Makes the group for a job directory below `own`, which cgroup_find_own() has found. False, and
 * path "": that is not possible here. */
bool cgroup_create(char path[CGROUP_PATH], const char *own, const char *job_dir);

/* A descriptor for starting a child in it (spawn.h), closed by the caller; -1: path is "", or the
 * group is gone. As long as it is open, the group is in use. */
int cgroup_open(const char *path);

/* Whether an agent has it open, or a process of any pid namespace is in it. */
bool cgroup_is_in_use(const char *path);

/* Sends SIGKILL to all processes in it and below. Takes "". */
void cgroup_kill(const char *path);
/* Removes it and the groups below, after waiting at most `wait_ms` for the last processes to end.
 * False: there are still some. Takes "". */
bool cgroup_remove(const char *path, int wait_ms);

/* The job directory, within `base`, whose group the process `pid` is in. False: it is in none. */
bool cgroup_job_dir(pid_t pid, const char *base, char *out, size_t size);

/* Calls `found` with each group of `user` whose name begins with `prefix`, anywhere in the
 * hierarchy. */
void cgroup_each(const char *prefix, uid_t user,
                 void (*found)(const char *path, const char *name, void *arg), void *arg);

#endif
