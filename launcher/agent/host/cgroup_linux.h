/* SPDX-License-Identifier: MIT */
/*
 * cgroup_linux.h: a control group of version 2 for a host's ranks, where this user may make one
 * below the agent's own: as root, or where systemd or a container has delegated it. The kernel then
 * ends all that is in it at one stroke, faster than any of it can fork, and whoever is left over is
 * known by it, whatever it did to its environment and its parents. Where it may not be made
 * parentage and mark do alone.
 *
 * Its name is the job directory's: /tmp/mlaunch-0/JOB.HOST.XXXXXX has mlaunch-0-JOB.HOST.XXXXXX.
 */
#ifndef LAUNCHER_AGENT_HOST_CGROUP_LINUX_H
#define LAUNCHER_AGENT_HOST_CGROUP_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CGROUP_PATH = 1024 }; /* bytes for the longest path, terminated */

/* Makes the group for a job directory. False, and path "": not here. */
bool cgroup_create(char path[CGROUP_PATH], const char *job_dir);

/* For a child that is to be born in it (spawn.h); -1: path is "", or it is gone. */
int cgroup_open(const char *path);

/* SIGKILL to all in it and below. The three take "". */
void cgroup_kill(const char *path);
/* Removes it and what is below, if nobody is in it: waits `wait_ms` at most for the last ones to
 * go. False: somebody is. */
bool cgroup_remove(const char *path, int wait_ms);

/* The job directory, within `base`, whose group this process is in. False: in none. */
bool cgroup_job_dir(pid_t pid, const char *base, char *out, size_t size);

/* Calls `found` with each group of this name's beginning that `user` has made, wherever it is. */
void cgroup_each(const char *prefix, uid_t user,
                 void (*found)(const char *path, const char *name, void *arg), void *arg);

#endif
