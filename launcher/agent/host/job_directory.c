/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/job_directory.h"

#include "launcher/base/container/container_removal.h"
#include "launcher/base/machine/place_lock.h"
#include "launcher/base/machine/tree_removal_linux.h"
#include "launcher/base/machine/user_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 20,
    SWEEP_TRIES = 3,
    SWEEP_MS = 30,   /* the thread's time in a sweep: mlaunch waits for heartbeats */
    LOOK_EACH = 256, /* names, then the time is looked at */
};

int job_directory_create(char path[JOB_DIRECTORY_PATH], const char *base, const char *job, int host,
                         struct fault *why)
{
    char parent[USER_DIRECTORY_PATH];

    /* Repeated, because another agent that ends may remove the user's directory in between. */
    for (int i = 0; i < TRIES; i++) {
        int rc = user_directory_make(parent, base, why), err;

        if (rc)
            return rc;
        if (snprintf(path, JOB_DIRECTORY_PATH, "%s/%s.%d.XXXXXX", parent, job, host) >=
            JOB_DIRECTORY_PATH) {
            rmdir(parent);
            return fault_set(why, ML_ERR_SYSTEM, "the path of job %s is too long", job);
        }
        if (mkdtemp(path))
            return 0;
        err = errno;
        rmdir(parent);
        errno = err;
        if (err != ENOENT)
            break;
    }
    return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a directory in %s", parent);
}

/* "/tmp/mlaunch-0/JOB.HOST.XXXXXX" for another directory of that name; its first `parent` bytes are
 * the user's directory. False: the job directory is one that is looked for itself. */
static bool link_path(char out[JOB_DIRECTORY_PATH], int *parent, const char *path)
{
    for (int i = 0; user_directory_bases[i]; i++) {
        size_t length = strlen(user_directory_bases[i]);

        if (strncmp(path, user_directory_bases[i], length) == 0 && path[length] == '/' &&
            path[length + 1 + user_directory_length(path + length + 1)] == '/')
            return false;
    }
    *parent = snprintf(out, JOB_DIRECTORY_PATH, "%s/mlaunch-%u", user_directory_base(),
                       (unsigned)geteuid());
    return snprintf(out + *parent, JOB_DIRECTORY_PATH - (size_t)*parent, "%s", strrchr(path, '/')) <
           JOB_DIRECTORY_PATH - *parent;
}

void job_directory_link(const char *path)
{
    char link[JOB_DIRECTORY_PATH], made[USER_DIRECTORY_PATH];
    struct fault why;
    int parent;

    if (!link_path(link, &parent, path) || user_directory_make(made, user_directory_base(), &why))
        return;
    if (strlen(made) != (size_t)parent || symlink(path, link))
        rmdir(made); /* another user has the first name, or that failed */
}

static void link_remove(const char *path)
{
    char link[JOB_DIRECTORY_PATH];
    int parent;

    if (!link_path(link, &parent, path))
        return;
    link[parent] = '\0';
    user_directory_leave(link, strrchr(path, '/') + 1);
}

static void parent_of(char parent[JOB_DIRECTORY_PATH], const char *path)
{
    snprintf(parent, JOB_DIRECTORY_PATH, "%s", path);
    *strrchr(parent, '/') = '\0';
}

int job_directory_restore(const char *path, bool *made, struct fault *why)
{
    char parent[JOB_DIRECTORY_PATH];
    struct stat st;
    int fd = -1, rc = 0;

    *made = false;
    if (access(path, F_OK) == 0)
        return 0;
    parent_of(parent, path);
    if (mkdir(parent, 0700) == 0 || errno == EEXIST)
        fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "%s was removed, and %s cannot be made again",
                      path, parent);
    else if (st.st_uid != geteuid() || (st.st_mode & 077))
        rc = fault_set(why, ML_ERR_SYSTEM,
                       "%s was removed, and %s is no longer a directory of yours that is closed to "
                       "others: start the job again",
                       path, parent);
    else if (mkdirat(fd, strrchr(path, '/') + 1, 0700))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "%s was removed, and cannot be made again", path);
    if (fd >= 0)
        close(fd);
    *made = rc == 0;
    if (*made)
        job_directory_link(path);
    return rc;
}

/* A copy that is not whole is elsewhere with --stage-cache. */
static void unfinished_remove(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char target[PATH_MAX];
    const char *name;
    struct stat st;
    ssize_t size = 0;

    if (dir < 0)
        return;
    if (fstat(dir, &st) == 0 && st.st_uid == geteuid())
        size = readlinkat(dir, JOB_DIRECTORY_ENV, target, sizeof(target) - 1);
    close(dir);
    if (size <= 0)
        return;
    target[size] = '\0';
    name = strrchr(target, '/');
    if (name && strncmp(name + 1, JOB_DIRECTORY_UNFINISHED, strlen(JOB_DIRECTORY_UNFINISHED)) == 0)
        tree_removal_run_path(target);
}

void job_directory_remove(const char *path)
{
    char parent[JOB_DIRECTORY_PATH];

    container_removal_run(path);
    unfinished_remove(path);
    /* As long as anything stays, as what is mounted does, clean knows by job.json whose it is. */
    if (tree_removal_empty(path, "job.json") || errno == ENOENT)
        tree_removal_run_path(path);
    if (access(path, F_OK) == 0)
        return;
    link_remove(path);
    parent_of(parent, path);
    user_directory_leave(parent, NULL);
}

/* "mlaunch-UID-JOB.HOST.XXXXXX." */
static void segment_prefix(char prefix[JOB_DIRECTORY_PATH + 32], const char *path)
{
    snprintf(prefix, JOB_DIRECTORY_PATH + 32, "mlaunch-%u-%s.", (unsigned)geteuid(),
             strrchr(path, '/') + 1);
}

void job_directory_lock(const char *path, int locks[JOB_DIRECTORY_LOCKS])
{
    char places[JOB_DIRECTORY_LOCKS][JOB_DIRECTORY_PATH + 48], prefix[JOB_DIRECTORY_PATH + 32];
    char link[JOB_DIRECTORY_PATH];
    int length = 0;

    segment_prefix(prefix, path);
    snprintf(places[0], sizeof(places[0]), "/dev/shm/%s" JOB_DIRECTORY_LOCK, prefix);
    snprintf(places[1], sizeof(places[1]), "%s", path);
    parent_of(places[2], path);
    if (link_path(link, &length, path))
        snprintf(places[3], sizeof(places[3]), "%.*s", length, link);
    for (int i = 0; i < (length ? JOB_DIRECTORY_LOCKS : JOB_DIRECTORY_LOCKS - 1); i++) {
        if (place_lock_is_there(locks[i]))
            continue;
        place_lock_drop(&locks[i]);
        locks[i] = i == 0 ? place_lock_file(places[i]) : place_lock_directory(places[i]);
    }
}

void job_directory_unlock(int locks[JOB_DIRECTORY_LOCKS])
{
    for (int i = 0; i < JOB_DIRECTORY_LOCKS; i++)
        place_lock_drop(&locks[i]);
}

void job_directory_touch(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    char parent[JOB_DIRECTORY_PATH];
    const struct dirent *entry;

    parent_of(parent, path);
    utimensat(AT_FDCWD, parent, NULL, AT_SYMLINK_NOFOLLOW);
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, "..") != 0)
            utimensat(fd, entry->d_name, NULL, AT_SYMLINK_NOFOLLOW);
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}

/* How long this thread has been running. */
static int64_t thread_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether the name that goes on so stays between two runs. */
static bool is_spared(const char *rest)
{
    return strncmp(rest, JOB_DIRECTORY_KEPT, strlen(JOB_DIRECTORY_KEPT)) == 0 ||
           strcmp(rest, JOB_DIRECTORY_LOCK) == 0;
}

static void segments_sweep(const char *path, bool (*is_left)(const char *rest), int64_t limit_ms)
{
    char prefix[JOB_DIRECTORY_PATH + 32];
    int64_t begin = thread_ms();
    const struct dirent *entry;
    DIR *shm = NULL;

    for (int tries = 0; !shm && tries < SWEEP_TRIES; tries++)
        shm = opendir("/dev/shm"); /* memory may be there the next time */
    if (!shm)
        return;
    segment_prefix(prefix, path);
    for (unsigned i = 1; (entry = readdir(shm)); i++) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            !(is_left && is_left(entry->d_name + strlen(prefix))))
            tree_removal_run(dirfd(shm), entry->d_name);
        if (limit_ms && i % LOOK_EACH == 0 && thread_ms() - begin >= limit_ms)
            break;
    }
    closedir(shm);
}

void job_directory_sweep_shm(const char *path, bool is_hurried)
{
    segments_sweep(path, NULL, is_hurried ? SWEEP_MS : 0);
}

bool job_directory_is_of(const char *path, const char *job, int host)
{
    const char *base = strrchr(path, '/');
    char name[NAME_MAX + 1];
    int size = snprintf(name, sizeof(name), "/%s.%d.", job, host);

    return base && size < (int)sizeof(name) && strncmp(base, name, (size_t)size) == 0;
}

void job_directory_empty(const char *path)
{
    container_removal_run(path);
    unfinished_remove(path);
    tree_removal_empty(path, "job.json"); /* by it others know whose the directory is */
    segments_sweep(path, is_spared, SWEEP_MS);
}

void job_directory_add_rank(const char *path, int rank, pid_t pid)
{
    char file[JOB_DIRECTORY_PATH + 64], line[32];
    int size = snprintf(line, sizeof(line), "%d %d\n", rank, (int)pid), fd;

    snprintf(file, sizeof(file), "%s/" JOB_DIRECTORY_RANKS, path);
    fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)!write(fd, line, (size_t)size);
    close(fd);
}

/* Reads a file that a rank has written, as one line. O_NONBLOCK, because the rank may put a FIFO
 * there, which must not stop the agent. False, with errno: it cannot be opened. */
static bool words_read(int dir, const char *file, char *text, size_t size)
{
    int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n;

    text[0] = '\0';
    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (char *at = text; *at; at++) {
        if (iscntrl((unsigned char)*at))
            *at = ' ';
    }
    return true;
}

bool job_directory_rank_is_broken(const char *path, int rank, char *text, size_t size)
{
    char file[JOB_DIRECTORY_PATH + 64];

    snprintf(file, sizeof(file), "%s/rank.%d.broken", path, rank);
    return words_read(AT_FDCWD, file, text, size) || errno != ENOENT;
}

bool job_directory_rank_is_alone(const char *path, int rank, char *text, size_t size)
{
    char file[JOB_DIRECTORY_PATH + 64];

    snprintf(file, sizeof(file), "%s/rank.%d.alone", path, rank);
    return words_read(AT_FDCWD, file, text, size);
}

void job_directory_each_wait(const char *path, int rank, void (*found)(const char *text, void *arg),
                             void *arg)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    char prefix[48], text[1024];
    struct dirent *entry;

    if (!dir && fd >= 0)
        close(fd);
    snprintf(prefix, sizeof(prefix), "rank.%d.waiting.", rank);
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            words_read(fd, entry->d_name, text, sizeof(text)) && text[0])
            found(text, arg);
    }
    if (dir)
        closedir(dir);
}

void job_directory_make_segments(const char *path, char *out, size_t size)
{
    char prefix[JOB_DIRECTORY_PATH + 32];

    segment_prefix(prefix, path);
    if (snprintf(out, size, "/dev/shm/%smpi", prefix) >= (int)size || mkdir(out, 0700))
        out[0] = '\0';
}
