/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/staged_place.h"

#include "common/text/number.h"
#include "launcher/base/machine/tree_removal_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { TRIES = 20 };

/* What is left of a copy that is being removed. */
static const char removed_start[] = ".mlaunch-old.";

static int room_check(const struct staged_place *p, const char *place, int mib, struct fault *why)
{
    const char *option = p->cache[0] ? "--stage-cache" : "--tmpdir";
    uint64_t needed = (uint64_t)mib << 20, room;
    char needs[NUMBER_SIZE], has[NUMBER_SIZE];
    struct statvfs fs;

    if (statvfs(p->directory, &fs))
        return 0;
    if (fs.f_flag & ST_NOEXEC)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage-env copies %s to %s, which is mounted noexec there: remount it "
                         "with exec, or name another place with %s",
                         p->path, place, option);
    room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (needed > room)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage-env copies %s of %s to %s, where only %s are free: make room "
                         "there, or name another place with %s",
                         number_size(needs, needed), p->path, place, number_size(has, room),
                         option);
    return 0;
}

/* Opens a directory and locks it, unless another process has a lock that excludes this one, or has
 * removed it in between. -1 with errno. */
static int directory_lock(const char *path, int operation)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;
    struct stat locked, there;

    if (fd < 0)
        return -1;
    if (flock(fd, operation | LOCK_NB) == 0) {
        if (fstat(fd, &locked) == 0 && lstat(path, &there) == 0 && locked.st_dev == there.st_dev &&
            locked.st_ino == there.st_ino)
            return fd;
        errno = EWOULDBLOCK;
    }
    err = errno;
    close(fd);
    errno = err;
    return -1;
}

/* Nobody else may write there, or else the user's programs would be others'. */
static int cache_open(struct staged_place *p, struct fault *why)
{
    struct stat st;

    if (mkdir(p->cache, 0700) && errno != EEXIST)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--stage-cache: cannot make %s", p->cache);
    if (stat(p->cache, &st))
        return fault_os(why, ML_ERR_SYSTEM, errno, "--stage-cache: cannot use %s", p->cache);
    if (!S_ISDIR(st.st_mode))
        return fault_set(why, ML_ERR_SYSTEM, "--stage-cache: %s is not a directory", p->cache);
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage-cache: %s belongs to another user, or others may write there: "
                         "name a directory in which only you can write",
                         p->cache);
    p->real_cache = realpath(p->cache, NULL);
    if (!p->real_cache)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--stage-cache: cannot use %s", p->cache);
    p->cache = p->real_cache;
    return 0;
}

static void copy_call(struct staged_place *p)
{
    snprintf(p->copy, sizeof(p->copy), "%s/%s", p->directory, p->name);
}

/* Takes the copy of this version, if the cache has it. */
static bool kept_take(struct staged_place *p)
{
    int fd;

    snprintf(p->directory, sizeof(p->directory), "%s/%s", p->cache, p->version);
    fd = directory_lock(p->directory, LOCK_SH);
    if (fd < 0)
        return false;
    copy_call(p);
    if (access(p->copy, F_OK)) {
        close(fd);
        return false;
    }
    p->lock = fd;
    return true;
}

/* Makes a directory for a copy that is not whole yet. */
static int unfinished_make(struct staged_place *p, const char *job_dir, struct fault *why)
{
    char link[JOB_DIRECTORY_PATH + 8];
    int rc;

    snprintf(link, sizeof(link), "%s/" JOB_DIRECTORY_ENV, job_dir);
    /* Repeated, because a job that ends may remove the directory before it is locked. */
    for (int i = 0; i < TRIES && p->lock < 0; i++) {
        snprintf(p->directory, sizeof(p->directory), "%s/" JOB_DIRECTORY_UNFINISHED "XXXXXX",
                 p->cache);
        if (!mkdtemp(p->directory))
            return fault_os(why, ML_ERR_SYSTEM, errno, "--stage-cache: cannot write in %s",
                            p->cache);
        p->lock = directory_lock(p->directory, LOCK_SH);
        if (p->lock < 0 && errno != EWOULDBLOCK && errno != ENOENT)
            break;
    }
    if (p->lock < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "--stage-cache: cannot lock %s", p->directory);
        rmdir(p->directory);
        return rc;
    }
    if (symlink(p->directory, link)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", link);
        rmdir(p->directory);
        return rc;
    }
    copy_call(p);
    return 0;
}

/* Removes an entry of the cache, unless somebody uses it. It gets another name first, so that
 * nobody finds it while it is incomplete. */
static void unused_remove(const struct staged_place *p, const char *name)
{
    char path[PATH_MAX], removed[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", p->cache, name);
    if (strncmp(name, removed_start, strlen(removed_start)) == 0) {
        tree_removal_run_path(path);
        return;
    }
    fd = directory_lock(path, LOCK_EX);
    if (fd < 0)
        return;
    if (snprintf(removed, sizeof(removed), "%s/%s%s", p->cache, removed_start, name) <
            (int)sizeof(removed) &&
        rename(path, removed) == 0)
        tree_removal_run_path(removed);
    close(fd);
}

/* Whether the cache no longer needs an entry, once nobody uses it: another version of the
 * directory, or what a host that died has left. */
static bool is_outdated(const struct staged_place *p, const char *name)
{
    size_t path = strcspn(p->version, ".") + 1;

    return strncmp(name, JOB_DIRECTORY_UNFINISHED, strlen(JOB_DIRECTORY_UNFINISHED)) == 0 ||
           strncmp(name, removed_start, strlen(removed_start)) == 0 ||
           (strncmp(name, p->version, path) == 0 && strcmp(name, p->version) != 0);
}

static void cache_sweep(const struct staged_place *p)
{
    DIR *d = opendir(p->cache);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (is_outdated(p, e->d_name))
            unused_remove(p, e->d_name);
    if (d)
        closedir(d);
}

static int cache_place(struct staged_place *p, const struct staged_place_config *config,
                       struct fault *why)
{
    int rc = cache_open(p, why);

    if (rc)
        return rc;
    p->is_kept = kept_take(p);
    if (p->is_kept)
        return room_check(p, p->cache, 0, why);
    rc = unfinished_make(p, config->job_dir, why);
    if (!rc && room_check(p, p->cache, config->mib, why)) {
        cache_sweep(p); /* which may make room */
        rc = room_check(p, p->cache, config->mib, why);
    }
    return rc;
}

static int job_place(struct staged_place *p, const struct staged_place_config *config,
                     struct fault *why)
{
    snprintf(p->directory, sizeof(p->directory), "%s/" JOB_DIRECTORY_ENV, config->job_dir);
    copy_call(p);
    if (mkdir(p->directory, 0700))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", p->directory);
    return room_check(p, config->job_dir, config->mib, why);
}

int staged_place_open(struct staged_place **out, const struct staged_place_config *config,
                      struct fault *why)
{
    struct staged_place *p = calloc(1, sizeof(*p));
    int rc;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    p->path = config->path;
    p->name = config->name;
    p->cache = config->cache;
    p->version = config->version;
    p->lock = -1;
    rc = p->cache[0] ? cache_place(p, config, why) : job_place(p, config, why);
    if (rc) {
        if (p->lock >= 0)
            close(p->lock);
        free(p->real_cache);
        free(p);
    } else {
        *out = p;
    }
    return rc;
}

int staged_place_settle(struct staged_place *p, struct fault *why)
{
    char unfinished[sizeof(p->directory)];
    int lock = p->lock, err;

    p->is_whole = true;
    if (!p->cache[0] || p->is_kept)
        return 0;
    memcpy(unfinished, p->directory, sizeof(unfinished));
    snprintf(p->directory, sizeof(p->directory), "%s/%s", p->cache, p->version);
    copy_call(p);
    if (rename(unfinished, p->directory) == 0)
        return 0;
    /* Another job was faster; its copy is the same. */
    err = errno;
    if (!kept_take(p))
        return fault_os(why, ML_ERR_SYSTEM, err, "--stage-cache: cannot rename %s to %s",
                        unfinished, p->directory);
    tree_removal_run_path(unfinished);
    close(lock);
    return 0;
}

void staged_place_close(struct staged_place *p)
{
    if (!p)
        return;
    if (p->cache[0] && p->is_whole)
        cache_sweep(p);
    if (p->lock >= 0)
        close(p->lock);
    free(p->real_cache);
    free(p);
}

const char *staged_place_shown(const struct staged_place *p)
{
    return p->is_seen ? p->path : p->copy;
}

char *staged_place_program(const struct staged_place *p, const char *cwd, const char *program)
{
    size_t size = strlen(p->path);
    char *full = NULL, *found = NULL;

    while (strncmp(program, "./", 2) == 0)
        program += 1 + strspn(program + 1, "/");
    if (!strchr(program, '/') || asprintf(&full, "%s%s%s", program[0] == '/' ? "" : cwd,
                                          program[0] == '/' ? "" : "/", program) < 0)
        return NULL;
    if (strncmp(full, p->path, size) != 0 || full[size] != '/' ||
        asprintf(&found, "%s%s", p->copy, full + size) < 0)
        found = NULL;
    free(full);
    return found;
}
