/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_limits_linux.h"

#include "launcher/agent/facts/fact_file.h"
#include "launcher/agent/host/cgroup_usage_linux.h"
#include "launcher/base/text/temporary_directory.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void limit_put(json_t *out, const char *key, int resource)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) == 0)
        json_object_set_new(
            out, key,
            json_integer(limit.rlim_cur == RLIM_INFINITY ? -1 : (json_int_t)limit.rlim_cur));
}

static void room_put(json_t *out, const char *key, const char *path)
{
    struct statvfs fs;

    if (statvfs(path, &fs) == 0)
        json_object_set_new(out, key,
                            json_integer((json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize));
}

static void cgroup_add(json_t *out)
{
    struct cgroup_limits limits;

    cgroup_limits_read(&limits, getpid());
    if (limits.cpus >= 0)
        json_object_set_new(out, "cgroup_cpus", json_real(limits.cpus));
    if (limits.memory_bytes >= 0)
        json_object_set_new(out, "cgroup_memory_bytes", json_real(limits.memory_bytes));
}

/* Long messages between ranks of one host are read from the sender's memory, which a container may
 * forbid altogether, and Yama between processes that are no relatives. A child reads from this
 * process here, as between parent and child the other way round is always allowed. */
static void reading_add(json_t *out)
{
    char from = 'x', to = ' ';
    struct iovec local = {&to, 1}, remote = {&from, 1};
    int status = 0;
    pid_t agent = getpid(), child = fork();

    if (child == 0)
        _exit(process_vm_readv(agent, &local, 1, &remote, 1, 0) == 1 ? 0 : errno);
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status))
        fact_put_text(out, "no_process_read", strerror(WEXITSTATUS(status)));
}

/* Whether the limit of locked memory is none to this process: with that capability, unless it is
 * one of a container's own users. */
static bool locks_anything(void)
{
    char text[FACT_TEXT];
    unsigned long long first, outside, count;

    return fact_file_entry("/proc/self/status", "CapEff:", text) &&
           (strtoull(text, NULL, 16) >> CAP_IPC_LOCK & 1) &&
           fact_file_line("/proc/self/uid_map", text) &&
           sscanf(text, "%llu %llu %llu", &first, &outside, &count) == 3 && first == 0 &&
           outside == 0 && count == UINT32_MAX;
}

/* Where agents are copied to: below the home directory, or what is there of that path. */
static void cache_put(json_t *out)
{
    const char *home = getenv("HOME");
    char path[FACT_PATH];

    if (!home || !*home)
        return;
    fact_file_path(path, home, "/.cache/mlaunch");
    room_put(out, "cache_free_bytes", access(path, F_OK) == 0 ? path : home);
}

json_t *facts_limits_read(void)
{
    json_t *out = json_object();

    if (locks_anything())
        json_object_set_new(out, "memlock", json_integer(-1));
    else
        limit_put(out, "memlock", RLIMIT_MEMLOCK);
    limit_put(out, "nofile", RLIMIT_NOFILE);
    limit_put(out, "nproc", RLIMIT_NPROC);
    room_put(out, "shm_free_bytes", "/dev/shm");
    fact_put_text(out, "tmp", temporary_directory(""));
    room_put(out, "tmp_free_bytes", temporary_directory(""));
    cache_put(out);
    cgroup_add(out);
    reading_add(out);
    return out;
}
