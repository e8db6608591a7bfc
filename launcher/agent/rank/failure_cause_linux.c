/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/failure_cause_linux.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

/* The number behind "NAME " at the beginning of a line of the file; -1: there is none. */
static int64_t counter_read(const char *path, const char *name)
{
    FILE *f = fopen(path, "re");
    size_t length = strlen(name);
    int64_t value = -1;
    char line[256];

    while (f && value < 0 && fgets(line, sizeof(line), f)) {
        if (strncmp(line, name, length) == 0 && line[length] == ' ' &&
            sscanf(line + length, "%" SCNd64, &value) != 1)
            break;
    }
    if (f)
        fclose(f);
    return value;
}

/* The directory of this process's memory control group, of either version. */
static bool memory_group(char out[PATH_MAX], bool *is_v1)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX], v2[PATH_MAX] = "";
    bool is_found = false;

    *is_v1 = false;
    while (f && !*is_v1 && fgets(line, sizeof(line), f)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(controllers + 1, "memory") == 0) {
            *is_v1 = true;
            is_found = snprintf(out, PATH_MAX, "/sys/fs/cgroup/memory%s", path) < PATH_MAX;
        } else if (controllers[1] == '\0') {
            snprintf(v2, sizeof(v2), "%s", path);
        }
    }
    if (f)
        fclose(f);
    if (*is_v1 || !v2[0])
        return is_found;
    return snprintf(out, PATH_MAX, "/sys/fs/cgroup%s", v2) < PATH_MAX;
}

static int64_t killed_in_group(void)
{
    char group[PATH_MAX], file[PATH_MAX + 32];
    bool is_v1;

    if (!memory_group(group, &is_v1))
        return -1;
    snprintf(file, sizeof(file), "%s/%s", group, is_v1 ? "memory.oom_control" : "memory.events");
    return counter_read(file, "oom_kill");
}

/* The kernel's limit of the group, in words; "": it has none. */
static void limit_text(char *out, size_t size)
{
    char group[PATH_MAX], file[PATH_MAX + 32];
    bool is_v1;
    FILE *f = NULL;
    int64_t bytes = 0;

    out[0] = '\0';
    if (memory_group(group, &is_v1)) {
        snprintf(file, sizeof(file), "%s/%s", group,
                 is_v1 ? "memory.limit_in_bytes" : "memory.max");
        f = fopen(file, "re");
    }
    if (f && fscanf(f, "%" SCNd64, &bytes) == 1 && bytes > 0 && bytes < (int64_t)1 << 50)
        snprintf(out, size, " of %" PRId64 " MiB", bytes >> 20);
    if (f)
        fclose(f);
}

void failure_cause_begin(struct failure_cause *c)
{
    c->killed_in_group = killed_in_group();
    c->killed_on_host = counter_read("/proc/vmstat", "oom_kill");
}

/* One more process has been ended since; it is accounted for from now on. */
static bool has_risen(int64_t *before, int64_t now)
{
    bool is_more = *before >= 0 && now > *before;

    *before += is_more;
    return is_more;
}

static bool memory_cause(char *out, size_t size, struct failure_cause *c, int64_t peak_bytes)
{
    bool in_group = has_risen(&c->killed_in_group, killed_in_group());
    bool on_host = has_risen(&c->killed_on_host, counter_read("/proc/vmstat", "oom_kill"));
    char limit[64] = "";

    if (!in_group && !on_host)
        return false;
    if (in_group)
        limit_text(limit, sizeof(limit));
    snprintf(out, size,
             "the kernel ended it because memory ran out (%s%s); it had used up to %" PRId64 " MiB",
             in_group ? "the control group's limit" : "most likely: the host's", limit,
             peak_bytes >> 20);
    return true;
}

static bool is_full(const char *directory)
{
    struct statvfs s;

    return directory && statvfs(directory, &s) == 0 && s.f_blocks > 0 &&
           (s.f_bavail == 0 || (s.f_files > 0 && s.f_favail == 0));
}

bool failure_cause_find(char *out, size_t size, struct failure_cause *c, int signal,
                        int64_t peak_bytes, const char *cwd)
{
    const char *const places[] = {cwd, "/tmp", "/dev/shm"};

    if (signal == SIGKILL)
        return memory_cause(out, size, c, peak_bytes);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (is_full(places[i])) {
            snprintf(out, size, "the file system of %s is full", places[i]);
            return true;
        }
    }
    return false;
}
