/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/place_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes over `fd`. */
static int lock_take(int fd, mode_t kind)
{
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
        flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

int place_lock_directory(const char *path)
{
    return lock_take(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), S_IFDIR);
}

int place_lock_file(const char *path)
{
    return lock_take(open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600),
                     S_IFREG);
}

void place_lock_drop(int *lock)
{
    if (*lock >= 0)
        close(*lock);
    *lock = -1;
}

bool place_lock_is_there(int lock)
{
    struct stat st;

    return lock >= 0 && fstat(lock, &st) == 0 && st.st_nlink > 0;
}

bool place_lock_exclude(int *lock, int at, const char *name)
{
    struct stat st;

    *lock = -1;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        return true;
    *lock = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return true;
    place_lock_drop(lock);
    return false;
}

bool place_lock_is_held(int at, const char *name)
{
    int lock;
    bool is_free = place_lock_exclude(&lock, at, name);

    place_lock_drop(&lock);
    return !is_free;
}
