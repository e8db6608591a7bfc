/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/process_linux.h"

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

/* /proc/PID/stat: "pid (name) state ppid pgrp … utime(14) stime cutime cstime … threads(20) …
 * starttime(22) vsize rss(24)". The name may hold blanks and brackets. */
bool process_read(struct process *out, pid_t pid)
{
    char path[64], text[1024], *open, *close;
    unsigned long long user, system, start;
    long long child_user, child_system;
    int parent, group;
    long resident;
    ssize_t n;

    /* With the dot, because qemu-user makes up what a process reads of itself as /proc/PID/stat.
     * The time of its start there is its parent's, so that others took it for another process. */
    snprintf(path, sizeof(path), "/proc/./%d/stat", (int)pid);
    n = file_read(path, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close ||
        sscanf(close + 1,
               " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %d %*d %llu "
               "%*u %ld",
               &out->state, &parent, &group, &user, &system, &child_user, &child_system,
               &out->threads, &start, &resident) != 10)
        return false;
    *close = '\0';
    snprintf(out->name, sizeof(out->name), "%.19s", open + 1);
    out->pid = pid;
    out->parent = parent;
    out->group = group;
    out->start_time = start;
    out->cpu_ticks = user + system;
    out->child_ticks = (uint64_t)child_user + (uint64_t)child_system;
    out->memory = resident > 0 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    /* A process whose first thread has ended looks like a zombie while its other threads run. */
    out->has_ended = out->state == 'X' || (out->state == 'Z' && out->threads <= 1);
    return true;
}

static int compare_pids(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

bool process_proc_is_ours(void)
{
    char text[32] = "";

    return readlink("/proc/self", text, sizeof(text) - 1) > 0 && atoi(text) == (int)getpid();
}

int process_list_read(struct process_list *out, struct fault *why)
{
    DIR *proc = opendir("/proc");
    struct process_list all = {0};
    struct dirent *entry;
    size_t room = 0;

    if (!proc)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot look into /proc");
    if (!process_proc_is_ours()) {
        closedir(proc);
        return fault_set(why, ML_ERR_SYSTEM, "/proc is not that of this pid namespace");
    }
    while ((entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (all.count == room) {
            struct process *more = realloc(all.list, (room * 2 + 256) * sizeof(*more));

            if (!more) {
                closedir(proc);
                process_list_free(&all);
                return fault_set(why, ML_ERR_MEMORY, "out of memory while looking into /proc");
            }
            all.list = more;
            room = room * 2 + 256;
        }
        if (process_read(&all.list[all.count], (pid_t)atoi(entry->d_name)))
            all.count++;
    }
    closedir(proc);
    if (all.count)
        qsort(all.list, all.count, sizeof(*all.list), compare_pids);
    *out = all;
    return 0;
}

void process_list_free(struct process_list *l)
{
    free(l->list);
    l->list = NULL;
    l->count = 0;
}

const struct process *process_list_find(const struct process_list *l, pid_t pid)
{
    struct process key = {.pid = pid};

    return l->count ? bsearch(&key, l->list, l->count, sizeof(key), compare_pids) : NULL;
}

char *process_environment(pid_t pid, size_t *size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    /* The file's size is unknown beforehand; most environments fit into the first buffer. */
    for (size_t room = FIRST_ENVIRONMENT; room <= ENVIRONMENT_MAX; room *= 8) {
        char *text = malloc(room + 1);
        ssize_t n = text ? file_read(path, text, room) : -1;

        if (n >= 0 && (size_t)n < room) {
            text[n] = '\0';
            *size = (size_t)n;
            return text;
        }
        free(text);
        if (n < 0)
            break;
    }
    return NULL;
}

char **process_variables(pid_t pid)
{
    size_t size, count = 0;
    char *text = process_environment(pid, &size), **list;

    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\0';
    list = calloc(count + 3, sizeof(*list));
    if (!list) {
        free(text);
        return NULL;
    }
    *list++ = text; /* the strings, in front of the array */
    count = 0;
    for (char *at = text; at < text + size; at += strlen(at) + 1)
        list[count++] = at;
    return list;
}

void process_variables_free(char **variables)
{
    if (!variables)
        return;
    free(variables[-1]);
    free(variables - 1);
}

bool process_user(pid_t pid, uid_t *user)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st))
        return false;
    *user = st.st_uid;
    return true;
}

bool process_catches(pid_t pid, int signal)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    }
    if (f)
        fclose(f);
    return caught >> (signal - 1) & 1;
}

/* Between reading /proc and sending the signal, a process may end and its pid may be reused. That
 * cannot happen to children of this process, which it reaps itself. Any other process is held by a
 * pidfd and then compared once more. */
/* info: or NULL, for a signal without a value. */
static void signal_send(const struct process *p, int signal, siginfo_t *info)
{
    struct process now;

    if (p->parent != getpid()) {
        int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);

        if (fd >= 0) {
            if (process_read(&now, p->pid) && now.start_time == p->start_time)
                syscall(SYS_pidfd_send_signal, fd, signal, info, 0);
            close(fd);
            return;
        }
        if (errno == ESRCH || !process_read(&now, p->pid) || now.start_time != p->start_time)
            return;
    }
    if (info)
        sigqueue(p->pid, signal, info->si_value);
    else
        kill(p->pid, signal);
}

void process_signal(const struct process *p, int signal)
{
    signal_send(p, signal, NULL);
}

void process_signal_value(const struct process *p, int signal, int value)
{
    siginfo_t info = {.si_signo = signal, .si_code = SI_QUEUE};

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    signal_send(p, signal, &info);
}
