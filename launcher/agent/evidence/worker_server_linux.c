/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/worker_server_linux.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENERS = 256, PATH = 64, LISTENS = 10 /* TCP_LISTEN */ };

struct wide_socket {
    unsigned long inode;
    uint16_t port;
};

/* As torch calls it (torch/csrc/distributed/c10d/control_plane/WorkerServer.cpp). */
static const char thread_name[] = "pt_workerserver\n";

static bool has_thread(pid_t pid)
{
    char path[PATH + NAME_MAX], name[32];
    bool has = false;
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    d = opendir(path);
    while (d && !has && (e = readdir(d))) {
        FILE *from;

        snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)pid, e->d_name);
        from = fopen(path, "re");
        has = from && fgets(name, sizeof(name), from) && strcmp(name, thread_name) == 0;
        if (from)
            fclose(from);
    }
    if (d)
        closedir(d);
    return has;
}

/* Whether an address of this host is one of the process, too. */
static bool has_this_network(pid_t pid)
{
    char path[PATH], theirs[PATH] = "", ours[PATH] = "";

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    return readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
           readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours) == 0;
}

/* Adds the sockets of a table that listen at all addresses. */
static int wide_sockets_read(const char *table, struct wide_socket *out, int count)
{
    FILE *from = fopen(table, "re");
    char line[512], address[40];

    while (from && count < LISTENERS && fgets(line, sizeof(line), from)) {
        unsigned port, state;
        unsigned long inode;

        if (sscanf(line, " %*d: %39[0-9A-F]:%4x %*[0-9A-F]:%*x %2x %*x:%*x %*x:%*x %*x %*u %*u %lu",
                   address, &port, &state, &inode) == 4 &&
            state == LISTENS && strspn(address, "0") == strlen(address))
            out[count++] = (struct wide_socket){inode, (uint16_t)port};
    }
    if (from)
        fclose(from);
    return count;
}

static bool is_socket(int fds, const char *name, unsigned long *inode)
{
    char target[PATH] = "";

    return readlinkat(fds, name, target, sizeof(target) - 1) > 0 &&
           sscanf(target, "socket:[%lu]", inode) == 1;
}

int worker_server_ports(pid_t pid, uint16_t other, uint16_t *out, int most)
{
    struct wide_socket all[LISTENERS];
    int count, found = 0;
    unsigned long inode;
    char path[PATH];
    struct dirent *e;
    DIR *d;

    if (!has_thread(pid) || !has_this_network(pid))
        return 0;
    count = wide_sockets_read("/proc/self/net/tcp", all,
                              wide_sockets_read("/proc/self/net/tcp6", all, 0));
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d)))
        for (int i = 0; i < count && is_socket(dirfd(d), e->d_name, &inode); i++)
            if (all[i].inode == inode && all[i].port != other && found < most)
                out[found++] = all[i].port;
    if (d)
        closedir(d);
    return found;
}
