/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/cgroup_linux.h"

#include "common/clock.h"
#include "launcher/agent/host/job_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { DEPTH_MAX = 32, ROOT_INODE = 1 };

/* The path of a process's group within the hierarchy, from "0::/user.slice/…". */
static bool path_of(pid_t pid, char *out, size_t size)
{
    char file[64], line[4096];
    bool is_found = false;
    FILE *f;

    snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
    f = fopen(file, "re");
    while (f && !is_found && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        is_found = strncmp(line, "0::/", 4) == 0 && strlen(line + 3) < size;
        if (is_found)
            memcpy(out, line + 3, strlen(line + 3) + 1);
    }
    if (f)
        fclose(f);
    return is_found;
}

/* Most systems have all of the hierarchy in one of two places. To look there is much faster than to
 * read the list of mounts. */
static bool mount_is_usual(char *point, size_t size)
{
    static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct statfs system;
        struct stat st;

        if (statfs(places[i], &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC &&
            stat(places[i], &st) == 0 && st.st_ino == ROOT_INODE)
            return snprintf(point, size, "%s", places[i]) < (int)size;
    }
    return false;
}

/* Finds where the hierarchy is mounted, and which part of it, from "31 23 0:28 ROOT MOUNTPOINT
 * options … - cgroup2 …". Paths with blanks (written as \040) are not supported. */
static bool mount_find(char *point, char *root, size_t size)
{
    char *line = NULL, where[1024], part[1024];
    size_t room = 0;
    bool is_found = false;
    FILE *f;

    root[0] = '\0';
    if (mount_is_usual(point, size))
        return true;
    f = fopen("/proc/self/mountinfo", "re");
    while (f && !is_found && getline(&line, &room, f) > 0) {
        const char *type = strstr(line, " - ");

        is_found = type && strncmp(type + 3, "cgroup2 ", 8) == 0 &&
                   sscanf(line, "%*s %*s %*s %1023s %1023s", part, where) == 2 &&
                   !strchr(part, '\\') && !strchr(where, '\\') && strlen(part) < size &&
                   strlen(where) < size;
    }
    if (is_found) {
        memcpy(point, where, strlen(where) + 1);
        memcpy(root, part, strlen(part) + 1);
        if (strcmp(part, "/") == 0)
            root[0] = '\0';
    }
    free(line);
    if (f)
        fclose(f);
    return is_found;
}

void cgroup_find_own(char path[CGROUP_PATH])
{
    char point[1024], root[1024], own[1024];
    size_t length;

    path[0] = '\0';
    if (!mount_find(point, root, sizeof(point)) || !path_of(getpid(), own, sizeof(own)))
        return;
    length = strlen(root);
    if (strncmp(own, root, length) != 0 || (own[length] && own[length] != '/') ||
        strstr(own, "/../"))
        return;
    if (strcmp(own + length, "/") == 0)
        own[length] = '\0';
    if (snprintf(path, CGROUP_PATH, "%s%s", point, own + length) >= CGROUP_PATH)
        path[0] = '\0';
}

/* Joins the last two parts of "/tmp/mlaunch-0/JOB.HOST.XXXXXX". */
static bool name_of(const char *job_dir, char *out, size_t size)
{
    const char *last = strrchr(job_dir, '/'), *first = last;

    while (first && first > job_dir && first[-1] != '/')
        first--;
    return first &&
           snprintf(out, size, "%.*s-%s", (int)(last - first), first, last + 1) < (int)size;
}

static bool is_writable(const char *path, const char *file)
{
    char name[CGROUP_PATH + 32];

    snprintf(name, sizeof(name), "%s/%s", path, file);
    return access(name, W_OK) == 0;
}

bool cgroup_create(char path[CGROUP_PATH], const char *own, const char *job_dir)
{
    char name[256];

    path[0] = '\0';
    if (!own[0] || !name_of(job_dir, name, sizeof(name)) ||
        snprintf(path, CGROUP_PATH, "%s/%s", own, name) >= CGROUP_PATH || mkdir(path, 0755)) {
        path[0] = '\0';
        return false;
    }
    /* cgroup.kill exists since Linux 5.14. */
    if (is_writable(path, "cgroup.kill") && is_writable(path, "cgroup.procs"))
        return true;
    rmdir(path);
    path[0] = '\0';
    return false;
}

int cgroup_open(const char *path)
{
    int fd = path[0] ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0)
        flock(fd, LOCK_SH | LOCK_NB);
    return fd;
}

/* From "populated 1" in cgroup.events, which counts the groups below and all pid namespaces. */
static bool is_populated(const char *path)
{
    char name[CGROUP_PATH + 32], text[256] = "";
    int fd;

    snprintf(name, sizeof(name), "%s/cgroup.events", path);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    (void)!read(fd, text, sizeof(text) - 1);
    close(fd);
    return strstr(text, "populated 1");
}

bool cgroup_is_in_use(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return is_locked || is_populated(path);
}

void cgroup_kill(const char *path)
{
    char name[CGROUP_PATH + 32];
    int fd;

    snprintf(name, sizeof(name), "%s/cgroup.kill", path);
    fd = path[0] ? open(name, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    (void)!write(fd, "1", 1);
    close(fd);
}

/* Where the kind is not known, a file can be neither opened as a directory nor removed as one. */
static bool may_be_group(const struct dirent *e)
{
    return (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) && e->d_name[0] != '.';
}

/* Removes the directories only; the kernel's files in them vanish with them. False: there are
 * processes in one. */
static bool tree_remove(const char *path, int depth)
{
    char below[CGROUP_PATH];
    DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (may_be_group(entry) &&
            snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < (int)sizeof(below))
            tree_remove(below, depth + 1);
    }
    if (dir)
        closedir(dir);
    return rmdir(path) == 0 || errno == ENOENT;
}

bool cgroup_remove(const char *path, int wait_ms)
{
    char name[CGROUP_PATH + 32], text[256];
    int64_t deadline_ms = clock_ms() + wait_ms;
    struct pollfd events = {.events = POLLPRI};
    bool is_removed;

    if (!path[0])
        return true;
    snprintf(name, sizeof(name), "%s/cgroup.events", path);
    events.fd = open(name, O_RDONLY | O_CLOEXEC);
    /* Reading marks the current state as seen, so that poll() reports only later changes. */
    (void)!read(events.fd, text, sizeof(text));
    while (!(is_removed = tree_remove(path, 0)) && clock_left_ms(deadline_ms) > 0) {
        if (poll(&events, 1, clock_left_ms(deadline_ms)) <= 0)
            break;
        (void)!pread(events.fd, text, sizeof(text), 0);
    }
    if (events.fd >= 0)
        close(events.fd);
    return is_removed;
}

bool cgroup_job_dir(pid_t pid, const char *base, char *out, size_t size)
{
    char path[1024];

    if (!path_of(pid, path, sizeof(path)))
        return false;
    /* The innermost group wins, because a rank may have started a job of its own. */
    for (char *part; (part = strrchr(path, '/')); *part = '\0') {
        const char *name = part + 1;
        size_t user = user_directory_length(name);

        if (user && name[user] == '-')
            return snprintf(out, size, "%s/%.*s/%s", base, (int)user, name, name + user + 1) <
                   (int)size;
    }
    return false;
}

struct search {
    const char *prefix;
    uid_t user;
    void (*found)(const char *path, const char *name, void *arg);
    void *arg;
};

static void tree_search(const struct search *s, const char *path, int depth)
{
    DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
    char below[CGROUP_PATH];
    struct dirent *entry;
    struct stat st;

    while (dir && (entry = readdir(dir))) {
        if (!may_be_group(entry) ||
            snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= (int)sizeof(below))
            continue;
        tree_search(s, below, depth + 1);
        if (strncmp(entry->d_name, s->prefix, strlen(s->prefix)) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid == s->user)
            s->found(below, entry->d_name, s->arg);
    }
    if (dir)
        closedir(dir);
}

void cgroup_each(const char *prefix, uid_t user,
                 void (*found)(const char *path, const char *name, void *arg), void *arg)
{
    const struct search s = {prefix, user, found, arg};
    char point[1024], root[1024];

    if (mount_find(point, root, sizeof(point)))
        tree_search(&s, point, 0);
}
