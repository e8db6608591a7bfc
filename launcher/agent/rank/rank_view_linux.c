/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/rank_view_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

struct rank_view {
    int user; /* the user namespace, or -1: that of the agent */
    int mount;
};

enum view_step { VIEW_READY, VIEW_NAMESPACE, VIEW_MOUNT, VIEW_CHROOT };

/* What the child writes to a pipe once it has made the namespace, or has failed to. */
struct outcome {
    enum view_step step;
    int error;
    int index; /* which paths cannot be mounted */
};

/* One directory in the place of another. */
struct view_paths {
    char source[PATH_MAX], target[PATH_MAX];
    const char *option;
    bool is_read_only;
};

struct view_list {
    struct view_paths items[2];
    int count;
};

static int file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    int err = errno;

    if (fd >= 0)
        close(fd);
    errno = err;
    return n < 0 ? -1 : 0;
}

/* The user and the group are the same inside as outside. */
static int user_map(uid_t uid, gid_t gid)
{
    char users[48], groups[48];

    snprintf(users, sizeof(users), "%u %u 1", (unsigned)uid, (unsigned)uid);
    snprintf(groups, sizeof(groups), "%u %u 1", (unsigned)gid, (unsigned)gid);
    if (file_write("/proc/self/setgroups", "deny") || file_write("/proc/self/uid_map", users))
        return -1;
    return file_write("/proc/self/gid_map", groups);
}

static int namespace_make(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWNS) == 0)
        return 0;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) ? -1 : user_map(uid, gid);
}

/* Whoever enters a mount namespace finds its root, and would leave a chroot by that. */
static bool is_in_chroot(void)
{
    struct stat before, after;
    int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    bool is_same = fd >= 0 && stat("/", &before) == 0 && setns(fd, CLONE_NEWNS) == 0 &&
                   stat("/", &after) == 0 && before.st_dev == after.st_dev &&
                   before.st_ino == after.st_ino;

    if (fd >= 0)
        close(fd);
    return !is_same;
}

/* A user namespace may take nothing away from what the source's file system forbids. */
static int read_only_make(const char *path)
{
    static const struct {
        unsigned long seen, kept;
    } flags[] = {{ST_NOSUID, MS_NOSUID}, {ST_NODEV, MS_NODEV}, {ST_NOEXEC, MS_NOEXEC}};
    unsigned long all = MS_REMOUNT | MS_BIND | MS_RDONLY;
    struct statvfs fs;

    if (statvfs(path, &fs))
        return -1;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (fs.f_flag & flags[i].seen)
            all |= flags[i].kept;
    return mount(NULL, path, NULL, all, NULL);
}

static int paths_mount(const struct view_paths *p)
{
    if (mount(p->source, p->target, NULL, MS_BIND | MS_REC, NULL))
        return -1;
    return p->is_read_only ? read_only_make(p->target) : 0;
}

/* What is mounted outside later, as by autofs, is still seen inside. */
static struct outcome view_make(const struct view_list *l)
{
    struct outcome o = {VIEW_READY, 0, 0};

    if (namespace_make())
        o.step = VIEW_NAMESPACE;
    else if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
        o.step = VIEW_MOUNT;
    while (o.step == VIEW_READY && o.index < l->count)
        if (paths_mount(&l->items[o.index]))
            o.step = VIEW_MOUNT;
        else
            o.index++;
    o.error = errno;
    if (o.step == VIEW_READY && is_in_chroot())
        o.step = VIEW_CHROOT;
    return o;
}

static int paths_check(const struct view_paths *p, struct fault *why)
{
    const char *paths[] = {p->source, p->target};
    struct stat st;

    for (int i = 0; i < 2; i++) {
        if (stat(paths[i], &st))
            return fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot use %s", p->option, paths[i]);
        if (!S_ISDIR(st.st_mode))
            return fault_set(why, ML_ERR_SYSTEM, "%s: %s is not a directory", p->option, paths[i]);
    }
    return 0;
}

static int mount_add(struct view_list *l, const char *mount, struct fault *why)
{
    struct view_paths *p = &l->items[l->count++];
    const char *colon = strchr(mount, ':');
    size_t size = colon ? (size_t)(colon - mount) : 0;

    if (mount[0] != '/' || !colon || colon[1] != '/' || size >= sizeof(p->source) ||
        strlen(colon + 1) >= sizeof(p->target))
        return fault_set(why, ML_ERR_REFUSED, "the launcher's JOB is invalid: mount");
    p->option = "--mount";
    memcpy(p->source, mount, size);
    p->source[size] = '\0';
    snprintf(p->target, sizeof(p->target), "%s", colon + 1);
    return paths_check(p, why);
}

static int copy_add(struct view_list *l, const char *copy, const char *path, struct fault *why)
{
    struct view_paths *p = &l->items[l->count++];

    p->option = "--stage-env";
    p->is_read_only = true;
    snprintf(p->source, sizeof(p->source), "%s", copy);
    snprintf(p->target, sizeof(p->target), "%s", path);
    return paths_check(p, why);
}

static int outcome_fault(const struct outcome *o, const struct view_list *l, struct fault *why)
{
    const struct view_paths *p = &l->items[o->index < l->count ? o->index : 0];

    if (o->step == VIEW_NAMESPACE)
        return fault_os(why, ML_ERR_SYSTEM, o->error,
                        "%s: this host does not let its users make namespaces (sysctl "
                        "user.max_user_namespaces, kernel.unprivileged_userns_clone or "
                        "kernel.apparmor_restrict_unprivileged_userns)",
                        p->option);
    if (o->step == VIEW_CHROOT)
        return fault_set(why, ML_ERR_SYSTEM, "%s: it does not work in a chroot", p->option);
    return fault_os(why, ML_ERR_SYSTEM, o->error, "%s: cannot mount %s over %s", p->option,
                    p->source, p->target);
}

static int namespace_open(pid_t child, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)child, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool is_own_user_namespace(int fd)
{
    struct stat own, other;

    return stat("/proc/self/ns/user", &own) == 0 && fstat(fd, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Keeps the namespaces of the child, which waits to be killed. */
static int view_take(struct rank_view *v, pid_t child, struct fault *why)
{
    v->mount = namespace_open(child, "mnt");
    v->user = v->mount < 0 ? -1 : namespace_open(child, "user");
    if (v->user < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open the ranks' namespace");
    /* Entering one's own is an error. */
    if (is_own_user_namespace(v->user)) {
        close(v->user);
        v->user = -1;
    }
    return 0;
}

_Noreturn static void child_run(const struct view_list *l, int to, pid_t agent)
{
    struct outcome o;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != agent)
        _exit(1);
    o = view_make(l);
    if (write(to, &o, sizeof(o)) == (ssize_t)sizeof(o))
        pause();
    _exit(1);
}

static int view_create(struct rank_view *v, const struct view_list *l, struct fault *why)
{
    struct outcome o = {VIEW_NAMESPACE, ECHILD, 0};
    pid_t agent = getpid(), child;
    int ends[2], rc;
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC))
        return fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot make a pipe", l->items[0].option);
    child = fork();
    if (child == 0)
        child_run(l, ends[1], agent);
    close(ends[1]);
    if (child < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot start one more process",
                      l->items[0].option);
        close(ends[0]);
        return rc;
    }
    do
        n = read(ends[0], &o, sizeof(o));
    while (n < 0 && errno == EINTR);
    close(ends[0]);
    rc = o.step == VIEW_READY ? view_take(v, child, why) : outcome_fault(&o, l, why);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return rc;
}

int rank_view_open(struct rank_view **out, const char *mount, const char *copy, const char *path,
                   struct fault *why)
{
    struct rank_view *v = malloc(sizeof(*v));
    struct view_list *l = calloc(1, sizeof(*l));
    int rc = v && l ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (v)
        *v = (struct rank_view){-1, -1};
    if (!rc && mount[0])
        rc = mount_add(l, mount, why);
    if (!rc && copy)
        rc = copy_add(l, copy, path, why);
    if (!rc)
        rc = view_create(v, l, why);
    free(l);
    if (rc)
        rank_view_close(v);
    else
        *out = v;
    return rc;
}

void rank_view_close(struct rank_view *v)
{
    if (!v)
        return;
    if (v->user >= 0)
        close(v->user);
    if (v->mount >= 0)
        close(v->mount);
    free(v);
}

int rank_view_enter(const struct rank_view *v)
{
    if (v->user >= 0 && setns(v->user, CLONE_NEWUSER))
        return -1;
    return setns(v->mount, CLONE_NEWNS);
}
