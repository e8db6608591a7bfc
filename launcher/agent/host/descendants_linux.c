/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/descendants_linux.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WALKS_MOST = 8 };

uint64_t descendants_start_time(pid_t pid)
{
    struct process p;

    return process_read(&p, pid) ? p.start_time : 0;
}

/* A list that grows. */
struct tree {
    struct process_list list;
    size_t room;
};

static int tree_add(struct tree *t, const struct process *p, struct fault *why)
{
    if (t->list.count == t->room) {
        struct process *more = realloc(t->list.list, (t->room * 2 + 16) * sizeof(*more));

        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory while looking into /proc");
        t->list.list = more;
        t->room = t->room * 2 + 16;
    }
    t->list.list[t->list.count++] = *p;
    return 0;
}

/* Adds the children that a thread of `parent` has forked. */
static int thread_children_add(struct tree *t, pid_t parent, pid_t thread, struct fault *why)
{
    struct process child;
    char path[80];
    int rc = 0, pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)thread);
    f = fopen(path, "re");
    if (!f)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %s", path);
    while (!rc && fscanf(f, "%d", &pid) == 1) {
        if (process_read(&child, pid) && child.parent == parent)
            rc = tree_add(t, &child, why);
    }
    fclose(f);
    return rc;
}

static int threads_children_add(struct tree *t, pid_t parent, struct fault *why)
{
    struct dirent *entry;
    char path[64];
    DIR *threads;
    int rc = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    threads = opendir(path);
    while (threads && rc != ML_ERR_MEMORY && (entry = readdir(threads))) {
        if (entry->d_name[0] != '.')
            rc = thread_children_add(t, parent, (pid_t)atoi(entry->d_name), why);
    }
    if (threads)
        closedir(threads);
    return rc;
}

/* If `p` has ended, its pid may be a stranger's now, and so may the children of that pid. That
 * cannot happen to children of this process, which it reaps itself. */
static bool is_still_there(const struct process *p)
{
    struct process now;

    return p->parent == getpid() || (process_read(&now, p->pid) && now.start_time == p->start_time);
}

static int compare_pids(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* From parents to children, as far as the kernel tells which children a process has. */
static int tree_walk(struct process_list *out, struct fault *why)
{
    pid_t self = getpid();
    struct tree t = {0};
    int rc = thread_children_add(&t, self, self, why);

    for (size_t i = 0; i < t.list.count && !rc; i++) {
        struct process parent = t.list.list[i];
        size_t before = t.list.count;

        if (parent.has_ended)
            continue;
        rc = parent.threads > 1 ? threads_children_add(&t, parent.pid, why)
                                : thread_children_add(&t, parent.pid, parent.pid, why);
        if (t.list.count > before && !is_still_there(&parent))
            t.list.count = before;
        if (rc == ML_ERR_SYSTEM)
            rc = 0; /* it has ended */
    }
    if (rc) {
        process_list_free(&t.list);
        return rc;
    }
    if (t.list.count)
        qsort(t.list.list, t.list.count, sizeof(*t.list.list), compare_pids);
    *out = t.list;
    return 0;
}

/* The chain of parents may be cut or, in theory, circular, because parents change while /proc is
 * read: the loop ends in both cases. */
static bool is_below(const struct process_list *all, const struct process *d, pid_t root)
{
    for (size_t i = 0; d && i < all->count; i++) {
        if (d->parent == root)
            return true;
        d = process_list_find(all, d->parent);
    }
    return false;
}

/* From children to parents, through all processes. */
static int all_walk(struct process_list *out, struct fault *why)
{
    struct process_list all;
    pid_t self = getpid();
    struct tree t = {0};
    int rc = process_list_read(&all, why);

    if (rc)
        return rc;
    for (size_t i = 0; i < all.count && !rc; i++) {
        if (is_below(&all, &all.list[i], self))
            rc = tree_add(&t, &all.list[i], why);
    }
    process_list_free(&all);
    if (rc)
        process_list_free(&t.list);
    else
        *out = t.list;
    return rc;
}

static bool has_all(const struct process_list *l, const struct process_list *of)
{
    for (size_t i = 0; i < of->count; i++) {
        if (!process_list_find(l, of->list[i].pid))
            return false;
    }
    return true;
}

/* A walk may miss a process whose parent ends meanwhile. So it is repeated until it finds nothing
 * that the one before has not found. */
static int walk_until_settled(int (*walk)(struct process_list *out, struct fault *why),
                              struct process_list *out, struct fault *why)
{
    struct process_list last;
    bool is_settled = false;
    int rc = walk(out, why);

    for (int i = 1; i < WALKS_MOST && !rc && !is_settled; i++) {
        last = *out;
        rc = walk(out, why);
        is_settled = rc || has_all(&last, out);
        process_list_free(&last);
    }
    return rc;
}

int descendants_find(struct process_list *out, struct fault *why)
{
    struct process_list found = {0};
    size_t kept = 0;
    int rc;

    if (!process_proc_is_ours())
        return fault_set(why, ML_ERR_SYSTEM, "/proc is not that of this pid namespace");
    rc = walk_until_settled(tree_walk, &found, why);
    if (rc == ML_ERR_SYSTEM)
        rc = walk_until_settled(all_walk, &found, why);
    if (rc)
        return rc;
    for (size_t i = 0; i < found.count; i++) {
        if (!found.list[i].has_ended)
            found.list[kept++] = found.list[i];
    }
    found.count = kept;
    *out = found;
    return 0;
}

/* 0: it is this process's own. As long as the child is unreaped, no other group can get the
 * number. */
static pid_t group_of(pid_t child)
{
    pid_t group = getpgid(child);

    return group > 0 && group != getpgrp() ? group : 0;
}

void descendants_signal_group(pid_t child, int signal)
{
    pid_t group = group_of(child);

    kill(group ? -group : child, signal);
}

static int compare_groups(const void *a, const void *b)
{
    const pid_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* A whole group at once, so that a rank that forks all the time cannot escape. Returns the groups,
 * sorted, which the caller frees; NULL: there are none. */
static pid_t *groups_signal(const struct process_list *d, int signal, size_t *count)
{
    pid_t self = getpid(), *groups = calloc(d->count, sizeof(*groups));

    *count = 0;
    for (size_t i = 0; groups && i < d->count; i++) {
        if (d->list[i].parent == self && (groups[*count] = group_of(d->list[i].pid)))
            ++*count;
    }
    if (*count)
        qsort(groups, *count, sizeof(*groups), compare_groups);
    for (size_t i = 0; i < *count; i++) {
        if (i == 0 || groups[i] != groups[i - 1])
            kill(-groups[i], signal);
    }
    return groups;
}

void descendants_signal(const struct process_list *d, int signal)
{
    size_t count;
    pid_t *groups = groups_signal(d, signal, &count);

    for (size_t i = 0; i < d->count; i++) {
        if (!count || !bsearch(&d->list[i].group, groups, count, sizeof(*groups), compare_groups))
            process_signal(&d->list[i], signal);
    }
    free(groups);
}

bool descendants_exist(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void descendants_describe(const struct process *d, char *text, size_t size)
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
