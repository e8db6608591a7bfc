/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/cgroup_usage_linux.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_PATH = PATH_MAX + 64 };

static const char hierarchy[] = "/sys/fs/cgroup"; /* where all systems have it */

/* Version 1 says "no limit" with a number of about 2^63. */
static const double memory_most = (double)((int64_t)1 << 50);

/* --- files ------------------------------------------------------------------------------------ */

static FILE *file_open(const char *dir, const char *name)
{
    char path[FILE_PATH];

    return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) ? fopen(path, "re")
                                                                                : NULL;
}

/* How many numbers the file begins with, at most 2. */
static int numbers_read(const char *dir, const char *name, double out[2])
{
    FILE *f = file_open(dir, name);
    int count = f ? fscanf(f, "%lf %lf", &out[0], &out[1]) : 0;

    if (f)
        fclose(f);
    return count > 0 ? count : 0;
}

static double number_read(const char *dir, const char *name)
{
    double numbers[2];

    return numbers_read(dir, name, numbers) > 0 ? numbers[0] : -1;
}

/* The number behind "KEY " at the beginning of a line of the file; -1: there is none. */
static int64_t counter_read(const char *dir, const char *name, const char *key)
{
    FILE *f = file_open(dir, name);
    size_t length = strlen(key);
    int64_t value = -1;
    char line[256];

    while (f && value < 0 && fgets(line, sizeof(line), f)) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ' &&
            sscanf(line + length, "%" SCNd64, &value) != 1)
            break;
    }
    if (f)
        fclose(f);
    return value;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* "cpu,cpuacct" has both. */
static bool list_has(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (!at[length] || at[length] == ','))
            return true;
    }
    return false;
}

/* The directory of the process's group, from "4:memory:/a/b" or "0::/a/b": of a controller of
 * version 1, or, if that is "", of version 2. */
static bool group_find(char out[PATH_MAX], pid_t pid, const char *controller)
{
    char path[64], line[PATH_MAX];
    bool is_found = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    f = fopen(path, "re");
    while (f && !is_found && fgets(line, sizeof(line), f)) {
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;

        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (*controller ? list_has(list + 1, controller) : !list[1])
            is_found = snprintf(out, PATH_MAX, "%s%s%s%s", hierarchy, *controller ? "/" : "",
                                controller, group) < PATH_MAX;
    }
    if (f)
        fclose(f);
    return is_found;
}

/* The files of the root group are those of the whole host. Within a container its own group looks
 * like one, but of version 2 only the true root has no cgroup.events. */
static bool group_is_root(const char *dir, const char *controller)
{
    char path[FILE_PATH];

    if (*controller)
        return dir[strlen(dir) - 1] == '/';
    snprintf(path, sizeof(path), "%s/cgroup.events", dir);
    return access(path, F_OK) != 0;
}

static bool group_find_below_root(char out[PATH_MAX], pid_t pid, const char *controller)
{
    return group_find(out, pid, controller) && !group_is_root(out, controller);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void least_keep(double *least, double value)
{
    if (value >= 0 && (*least < 0 || value < *least))
        *least = value;
}

static void memory_limit_keep(struct cgroup_limits *l, double bytes)
{
    if (bytes < memory_most)
        least_keep(&l->memory_bytes, bytes);
}

/* Reads the limits of the process's group of version 2 and of those above it. */
static void limits_read_up(struct cgroup_limits *l, pid_t pid)
{
    char dir[PATH_MAX];
    double quota[2];

    if (!group_find(dir, pid, ""))
        return;
    while (strlen(dir) >= strlen(hierarchy)) {
        if (numbers_read(dir, "cpu.max", quota) == 2 && quota[1] > 0)
            least_keep(&l->cpus, quota[0] / quota[1]);
        memory_limit_keep(l, number_read(dir, "memory.max"));
        *strrchr(dir, '/') = '\0';
    }
}

void cgroup_limits_read(struct cgroup_limits *out, pid_t pid)
{
    char dir[PATH_MAX];

    *out = (struct cgroup_limits){-1, -1};
    limits_read_up(out, pid);
    if (group_find(dir, pid, "memory"))
        memory_limit_keep(out, number_read(dir, "memory.limit_in_bytes"));
    if (group_find(dir, pid, "cpu")) {
        double quota = number_read(dir, "cpu.cfs_quota_us");
        double period = number_read(dir, "cpu.cfs_period_us");

        if (quota > 0 && period > 0)
            least_keep(&out->cpus, quota / period);
    }
}

/* --- usage ------------------------------------------------------------------------------------ */

int64_t cgroup_usage_killed(pid_t pid)
{
    char dir[PATH_MAX];

    if (group_find(dir, pid, "memory"))
        return counter_read(dir, "memory.oom_control", "oom_kill");
    return group_find(dir, pid, "") ? counter_read(dir, "memory.events", "oom_kill") : -1;
}

int64_t cgroup_usage_killed_on_host(void)
{
    return counter_read("/proc", "vmstat", "oom_kill");
}

void cgroup_usage_read(struct cgroup_usage *out, pid_t pid)
{
    char dir[PATH_MAX];
    int64_t us = -1;
    double ns = -1;

    *out = (struct cgroup_usage){-1, -1, -1};
    if (group_find_below_root(dir, pid, "cpuacct"))
        ns = number_read(dir, "cpuacct.usage");
    else if (group_find_below_root(dir, pid, ""))
        us = counter_read(dir, "cpu.stat", "usage_usec");
    if (ns >= 0 || us >= 0)
        out->cpu_s = ns >= 0 ? ns / 1e9 : (double)us / 1e6;
    if (group_find_below_root(dir, pid, "memory"))
        out->memory_bytes = number_read(dir, "memory.usage_in_bytes");
    else if (group_find_below_root(dir, pid, ""))
        out->memory_bytes = number_read(dir, "memory.current");
    else
        return;
    out->killed = cgroup_usage_killed(pid);
}
