/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/failure_cause_linux.h"

#include "launcher/agent/host/cgroup_usage_linux.h"
#include "launcher/base/text/temporary_directory.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The kernel's limit of the group, as a text; "": it has none. */
static void limit_text(char *out, size_t size)
{
    struct cgroup_limits limits;

    cgroup_limits_read(&limits, getpid());
    out[0] = '\0';
    if (limits.memory_bytes > 0)
        snprintf(out, size, " of %" PRId64 " MiB", (int64_t)limits.memory_bytes >> 20);
}

void failure_cause_begin(struct failure_cause *c)
{
    c->killed_in_group = cgroup_usage_killed(getpid());
    c->killed_on_host = cgroup_usage_killed_on_host();
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
    bool in_group = has_risen(&c->killed_in_group, cgroup_usage_killed(getpid()));
    bool on_host = has_risen(&c->killed_on_host, cgroup_usage_killed_on_host());
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
    const char *const places[] = {cwd, temporary_directory(""), "/dev/shm"};

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
