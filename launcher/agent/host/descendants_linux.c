/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/descendants_linux.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t descendants_start_time(pid_t pid)
{
    struct process p;

    return process_read(&p, pid) ? p.start_time : 0;
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
    size_t size;
    uid_t user;
    char *text;
    bool found;

    if (!process_user(pid, &user) || user != geteuid())
        return false;
    text = process_environment(pid, &size);
    found = text && environment_has(text, size, mark);
    free(text);
    return found;
}

/* Parents change while /proc is read, so the chain of parents may be cut or, in theory, circular:
 * the loop ends in both cases. */
static bool is_below(const struct process_list *all, const struct process *d, pid_t root)
{
    for (size_t i = 0; d && i < all->count; i++) {
        if (d->parent == root)
            return true;
        d = process_list_find(all, d->parent);
    }
    return false;
}

int descendants_find(struct process_list *out, const char *job_dir, pid_t except, struct fault *why)
{
    struct process_list all;
    char mark[512];
    pid_t self = getpid();
    uint64_t born;
    size_t kept = 0;
    bool *keep;
    int rc;

    rc = process_list_read(&all, why);
    if (rc)
        return rc;
    keep = calloc(all.count + 1, sizeof(*keep));
    if (!keep) {
        process_list_free(&all);
        return fault_set(why, ML_ERR_MEMORY, "out of memory while looking into /proc");
    }
    snprintf(mark, sizeof(mark), "MLAUNCH_JOB_DIR=%s", job_dir ? job_dir : "");
    born = process_list_find(&all, self) ? process_list_find(&all, self)->start_time : 0;
    for (size_t i = 0; i < all.count; i++) {
        const struct process *d = &all.list[i];

        if (d->pid == self || d->pid == except || d->has_ended)
            continue;
        /* A process that is older than this one cannot have the mark. That spares reading the
         * environments of most processes of a host. */
        keep[i] = is_below(&all, d, self) ||
                  (job_dir && d->start_time >= born && is_marked(d->pid, mark));
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

void descendants_signal(const struct process_list *d, int signal)
{
    pid_t self = getpid();

    /* A whole group at once, so that a rank that forks all the time cannot escape. A group is
     * certainly still the same only if its leader is an unreaped child of this process. */
    for (size_t i = 0; i < d->count; i++) {
        if (d->list[i].parent == self && d->list[i].group == d->list[i].pid)
            kill(-d->list[i].pid, signal);
    }
    for (size_t i = 0; i < d->count; i++) {
        const struct process *leader = process_list_find(d, d->list[i].group);

        if (!leader || leader->parent != self)
            process_signal(&d->list[i], signal);
    }
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
