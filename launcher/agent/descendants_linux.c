/* SPDX-License-Identifier: MIT */
#include "launcher/agent/descendants_linux.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 4 << 20, FIRST_ENVIRONMENT = 64 << 10 };

static ssize_t file_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t got = 0;
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    while (got < size && (n = read(fd, text + got, size - got)) > 0)
        got += (size_t)n;
    close(fd);
    return n < 0 && got == 0 ? -1 : (ssize_t)got;
}

/* /proc/PID/stat: "pid (name) state ppid pgrp … threads(20) … starttime(22)". The name may hold blanks and
 * brackets. */
static bool stat_read(struct descendant *d, pid_t pid)
{
    char path[64], text[1024], *open, *close;
    ssize_t n;
    int parent, group, threads;
    unsigned long long start;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    n = file_read(path, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close ||
        sscanf(close + 1,
               " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
               &d->state, &parent, &group, &threads, &start) != 5)
        return false;
    *close = '\0';
    snprintf(d->name, sizeof(d->name), "%.19s", open + 1);
    d->pid = pid;
    d->parent = parent;
    d->group = group;
    d->start_time = start;
    /* A process whose first thread has ended looks like a zombie while its other threads run. */
    d->has_ended = d->state == 'X' || (d->state == 'Z' && threads <= 1);
    return true;
}

uint64_t descendants_start_time(pid_t pid)
{
    struct descendant d;

    return stat_read(&d, pid) ? d.start_time : 0;
}

/* Whether `text` holds `entry` as one whole NUL-terminated string. */
static bool environment_has(const char *text, size_t size, const char *entry)
{
    size_t length = strlen(entry) + 1;

    for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), entry, length));
         at++) {
        if (at == text || at[-1] == '\0')
            return true;
    }
    return false;
}

static bool is_marked(pid_t pid, const char *mark)
{
    char path[64], *text;
    struct stat st;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (stat(path, &st) || st.st_uid != geteuid())
        return false;
    /* The file's size isn't known beforehand; most environments fit the first buffer. */
    for (size_t size = FIRST_ENVIRONMENT; size <= ENVIRONMENT_MAX; size *= 8) {
        ssize_t n;

        text = malloc(size);
        if (!text)
            return false;
        n = file_read(path, text, size);
        found = n > 0 && environment_has(text, (size_t)n, mark);
        free(text);
        if (found || n < (ssize_t)size)
            break;
    }
    return found;
}

static int all_processes(struct descendants *out, struct fault *why)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    size_t room = 0;
    struct descendants all = {0};

    if (!proc)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot look into /proc");
    while ((entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (all.count == room) {
            struct descendant *more = realloc(all.list, (room * 2 + 256) * sizeof(*more));

            if (!more) {
                closedir(proc);
                descendants_free(&all);
                return fault_set(why, ML_ERR_MEMORY, "out of memory while looking into /proc");
            }
            all.list = more;
            room = room * 2 + 256;
        }
        if (stat_read(&all.list[all.count], (pid_t)atoi(entry->d_name)))
            all.count++;
    }
    closedir(proc);
    *out = all;
    return 0;
}

static int compare_pids(const void *a, const void *b)
{
    const struct descendant *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static const struct descendant *process_of(const struct descendants *all, pid_t pid)
{
    struct descendant key = {.pid = pid};

    return all->count ? bsearch(&key, all->list, all->count, sizeof(key), compare_pids) : NULL;
}

/* Parentage changes while /proc is read, so the way up may be cut or, in theory, a circle: both
 * end. */
static bool is_below(const struct descendants *all, const struct descendant *d, pid_t root)
{
    for (size_t i = 0; d && i < all->count; i++) {
        if (d->parent == root)
            return true;
        d = process_of(all, d->parent);
    }
    return false;
}

/* A /proc of another pid namespace speaks of other processes under our numbers. */
static bool proc_is_ours(void)
{
    char text[32] = "";

    return readlink("/proc/self", text, sizeof(text) - 1) > 0 && atoi(text) == (int)getpid();
}

int descendants_find(struct descendants *out, const char *job_dir, pid_t except, struct fault *why)
{
    struct descendants all;
    char mark[512];
    pid_t self = getpid();
    size_t kept = 0;
    bool *keep;
    int rc;

    if (!proc_is_ours())
        return fault_set(why, ML_ERR_SYSTEM, "/proc is not that of this pid namespace");
    rc = all_processes(&all, why);
    if (rc)
        return rc;
    if (all.count)
        qsort(all.list, all.count, sizeof(*all.list), compare_pids);
    keep = calloc(all.count + 1, sizeof(*keep));
    if (!keep) {
        descendants_free(&all);
        return fault_set(why, ML_ERR_MEMORY, "out of memory while looking into /proc");
    }
    snprintf(mark, sizeof(mark), "MLAUNCH_JOB_DIR=%s", job_dir ? job_dir : "");
    for (size_t i = 0; i < all.count; i++) {
        const struct descendant *d = &all.list[i];

        if (d->pid == self || d->pid == except || d->has_ended)
            continue;
        keep[i] = is_below(&all, d, self) || (job_dir && is_marked(d->pid, mark));
    }
    for (size_t i = 0; i < all.count; i++) {
        if (keep[i])
            all.list[kept++] = all.list[i];
    }
    free(keep);
    all.count = kept;
    *out = all;
    return 0;
}

void descendants_free(struct descendants *d)
{
    free(d->list);
    d->list = NULL;
    d->count = 0;
}

/* Between the look into /proc and the signal a process may have ended and its pid been given to a
 * stranger. Not to our own children's: we are the ones who reap those. Others are held by a pidfd,
 * and looked at again through it. */
static void signal_one(const struct descendant *d, int signal)
{
    if (d->parent != getpid()) {
        int fd = (int)syscall(SYS_pidfd_open, d->pid, 0);

        if (fd >= 0) {
            if (descendants_start_time(d->pid) == d->start_time)
                syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
            close(fd);
            return;
        }
        if (errno == ESRCH || descendants_start_time(d->pid) != d->start_time)
            return;
    }
    kill(d->pid, signal);
}

void descendants_signal(const struct descendants *d, int signal)
{
    pid_t self = getpid();

    /* A group at one stroke, so that a rank that forks all the time can't fork past it. Only a
     * group whose leader is our own unreaped child is surely still the same group. */
    for (size_t i = 0; i < d->count; i++) {
        if (d->list[i].parent == self && d->list[i].group == d->list[i].pid)
            kill(-d->list[i].pid, signal);
    }
    for (size_t i = 0; i < d->count; i++) {
        const struct descendant *leader = process_of(d, d->list[i].group);

        if (!leader || leader->parent != self)
            signal_one(&d->list[i], signal);
    }
}

bool descendants_exist(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void descendant_describe(const struct descendant *d, char *text, size_t size)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", (int)d->pid);
    if (d->state == 'D')
        snprintf(text, size,
                 "pid %d (%s) is in uninterruptible sleep and ignores SIGKILL until the "
                 "system wakes it",
                 (int)d->pid, d->name);
    else if (stat(path, &st) == 0 && st.st_uid != geteuid() && kill(d->pid, 0) && errno == EPERM)
        snprintf(text, size, "pid %d (%s) runs as another user (uid %u), who alone may end it",
                 (int)d->pid, d->name, (unsigned)st.st_uid);
    else
        snprintf(text, size, "pid %d (%s) did not end after SIGKILL (state %c)", (int)d->pid,
                 d->name, d->state);
}
