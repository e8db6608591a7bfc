/* SPDX-License-Identifier: MIT */
#include "runtime/world/agent_above_linux.h"

#include "common/agent_to_rank.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Parents change while they are looked at: the walk must end. */
enum { PARENTS_MOST = 200 };

/* Reads the beginning of a file of /proc. */
static bool proc_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* From "pid (name) state ppid …": the name may hold blanks and brackets. */
static bool stat_read(const char *path, char name[32], int *parent)
{
    char text[512], *open, *close;

    if (!proc_read(path, text, sizeof(text)))
        return false;
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close || sscanf(close + 1, " %*c %d", parent) != 1)
        return false;
    *close = '\0';
    snprintf(name, 32, "%s", open + 1);
    return true;
}

/* The pid of the nearest agent among the parents; 0: there is none. The pids are those of /proc,
 * which may be that of a pid namespace above this process's own. */
static int agent_pid(void)
{
    char path[64], name[32];
    int parent;

    if (!stat_read("/proc/self/stat", name, &parent))
        return 0;
    for (int i = 0; i < PARENTS_MOST && parent > 0; i++) {
        int pid = parent;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        if (!stat_read(path, name, &parent))
            return 0;
        if (strcmp(name, AGENT_PROCESS_NAME) == 0)
            return pid;
    }
    return 0;
}

/* A part of the path is named as agents name the control group of a job, which is
 * mlaunch-UID-JOB.HOST.XXXXXX. In a pid namespace of its own a process does not see the agent, but
 * is still in that group. */
static bool group_find(char *text, size_t size)
{
    char paths[4096], end = '\0';
    const char *at = paths;
    unsigned user;

    if (!proc_read("/proc/self/cgroup", paths, sizeof(paths)))
        return false;
    while ((at = strstr(at, "/mlaunch-"))) {
        int length = (int)strcspn(++at, "/\n");
        char name[256];

        if (length < (int)sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", length, at);
            if (sscanf(name, "mlaunch-%u-%*[a-z0-9-].%*u.%*5[A-Za-z0-9]%c", &user, &end) == 2) {
                snprintf(text, size, "its control group is %s, a job's", name);
                return true;
            }
        }
    }
    return false;
}

bool agent_above_find(char *text, size_t size)
{
    int pid = agent_pid();

    if (pid == 0)
        return group_find(text, size);
    snprintf(text, size, "mlaunch's agent, pid %d, is above it", pid);
    return true;
}
