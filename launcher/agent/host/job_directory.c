/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/job_directory.h"

#include "launcher/base/container/container_removal.h"
#include "launcher/base/machine/user_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TRIES = 20,
    REMOVE_DESCRIPTORS = 16,
    REMOVE_TRIES = 3,
    REMOVE_PAUSE_MS = 20,
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

    if (!link_path(link, &parent, path) || unlink(link))
        return;
    link[parent] = '\0';
    rmdir(link);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    remove(path); /* one that cannot be removed must not keep the rest */
    return 0;
}

static int entry_unlock(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (type == FTW_D || type == FTW_DNR)
        chmod(path, 0700);
    return 0;
}

/* Looking into a directory takes memory, which may be there a moment later. What --stage-env copies
 * may have directories in which nobody may write. */
void job_directory_remove_tree(const char *path)
{
    for (int tries = 1;; tries++) {
        int rc = nftw(path, entry_remove, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);

        if ((rc && errno != ENOMEM) || access(path, F_OK) || tries == REMOVE_TRIES)
            return;
        if (rc)
            poll(NULL, 0, REMOVE_PAUSE_MS);
        else
            nftw(path, entry_unlock, REMOVE_DESCRIPTORS, FTW_PHYS);
    }
}

/* A copy that is not whole is elsewhere with --stage-cache. */
static void unfinished_remove(const char *path)
{
    char link[JOB_DIRECTORY_PATH + 8], target[PATH_MAX];
    const char *name;
    ssize_t size;

    snprintf(link, sizeof(link), "%s/" JOB_DIRECTORY_ENV, path);
    size = readlink(link, target, sizeof(target) - 1);
    if (size <= 0)
        return;
    target[size] = '\0';
    name = strrchr(target, '/');
    if (name && strncmp(name + 1, JOB_DIRECTORY_UNFINISHED, strlen(JOB_DIRECTORY_UNFINISHED)) == 0)
        job_directory_remove_tree(target);
}

void job_directory_remove(const char *path)
{
    char parent[JOB_DIRECTORY_PATH];

    container_removal_run(path);
    unfinished_remove(path);
    job_directory_remove_tree(path);
    link_remove(path);
    snprintf(parent, sizeof(parent), "%s", path);
    *strrchr(parent, '/') = '\0';
    rmdir(parent); /* only if this was the user's last job here */
}

/* "mlaunch-UID-JOB.HOST.XXXXXX." */
static void segment_prefix(char prefix[JOB_DIRECTORY_PATH + 32], const char *path)
{
    snprintf(prefix, JOB_DIRECTORY_PATH + 32, "mlaunch-%u-%s.", (unsigned)geteuid(),
             strrchr(path, '/') + 1);
}

void job_directory_segment_remove(const char *path)
{
    job_directory_remove_tree(path);
}

/* `spared`: how the rest of the names begins that stay. */
static void segments_sweep(const char *path, const char *spared)
{
    char prefix[JOB_DIRECTORY_PATH + 32], segment[300];
    DIR *shm = opendir("/dev/shm");
    struct dirent *entry;

    if (!shm)
        return;
    segment_prefix(prefix, path);
    while ((entry = readdir(shm))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            (spared && strncmp(entry->d_name + strlen(prefix), spared, strlen(spared)) == 0))
            continue;
        snprintf(segment, sizeof(segment), "/dev/shm/%s", entry->d_name);
        job_directory_segment_remove(segment);
    }
    closedir(shm);
}

void job_directory_sweep_shm(const char *path)
{
    segments_sweep(path, NULL);
}

bool job_directory_is_of(const char *path, const char *job, int host)
{
    const char *base = strrchr(path, '/');
    char name[NAME_MAX + 1];
    int size = snprintf(name, sizeof(name), "/%s.%d.", job, host);

    return base && size < (int)sizeof(name) && strncmp(base, name, (size_t)size) == 0;
}

/* All but the directory itself, and the file by which others know whose it is. */
static int entry_clear(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type;
    if (ftw->level > 1 || (ftw->level == 1 && strcmp(path + ftw->base, "job.json") != 0))
        remove(path);
    return 0;
}

void job_directory_empty(const char *path)
{
    container_removal_run(path);
    unfinished_remove(path);
    nftw(path, entry_unlock, REMOVE_DESCRIPTORS, FTW_PHYS);
    nftw(path, entry_clear, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    segments_sweep(path, JOB_DIRECTORY_KEPT);
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
