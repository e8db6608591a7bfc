/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/tree_removal_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2 /* an older C library */
#define SYS_openat2 __NR_openat2
#endif

enum {
    DEPTH_MOST = 48, /* directories that are open at a time: a process may have 256 descriptors */
    TRIES = 3,
    PAUSE_MS = 20,
};

struct tree_removal {
    int top;            /* its directory: what lies too deep is moved there */
    const char *spared; /* a name in it, or NULL */
    unsigned moved;     /* how much was */
    bool has_moved;     /* something, in this pass */
};

/* "mnt_id:" as /proc tells it; -1: not known. */
static long mount_of(int fd)
{
    char path[64], line[128];
    long id = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    f = fopen(path, "re");
    while (f && id < 0 && fgets(line, sizeof(line), f))
        (void)sscanf(line, "mnt_id: %ld", &id);
    if (f)
        fclose(f);
    return id;
}

/* Before Linux 5.6, and in containers that do not know openat2. */
static int open_within_by_id(int at, const char *name, int flags)
{
    int fd = openat(at, name, flags);
    long here = fd < 0 ? -1 : mount_of(at);

    if (fd < 0 || (here >= 0 && mount_of(fd) == here))
        return fd;
    close(fd);
    errno = EXDEV;
    return -1;
}

/* Opens a directory of `at` on the same mount. -1 with errno; EXDEV: something is mounted there. */
static int open_within(int at, const char *name, int flags)
{
    struct open_how how = {.flags = (unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                           .resolve =
                               RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return open_within_by_id(at, name, (int)how.flags);
}

/* Opens one that may not be read, if it is this user's: --stage-env copies directories with the
 * permissions that they have. */
static int open_locked(int at, const char *name)
{
    int place = open_within(at, name, O_PATH), fd = -1;
    char path[64];
    struct stat st;

    if (place < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
    errno = EACCES;
    if (fstat(place, &st) == 0 && st.st_uid == geteuid() && chmod(path, S_IRWXU) == 0)
        fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(place);
    return fd;
}

/* Opens a directory that may be emptied: in one of this user's each, in another user's only what is
 * that one's. `above` is the owner of `at`. */
static int directory_open(int at, uid_t above, const char *name, uid_t *owner)
{
    int fd = open_within(at, name, O_RDONLY);
    struct stat st;

    if (fd < 0 && errno == EACCES)
        fd = open_locked(at, name);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) || (above != geteuid() && st.st_uid != above)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    if (st.st_uid == geteuid() && (st.st_mode & S_IRWXU) != S_IRWXU)
        fchmod(fd, S_IRWXU);
    *owner = st.st_uid;
    return fd;
}

static int tree_remove(struct tree_removal *r, int at, uid_t above, const char *name, int depth);

/* Empties a directory, and closes it. 0, or the first errno. */
static int directory_clear(struct tree_removal *r, int fd, uid_t owner, int depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *e;
    int failed = 0;

    if (!dir) {
        failed = errno;
        close(fd);
        return failed;
    }
    for (errno = 0; (e = readdir(dir)); errno = 0) {
        int err;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (depth == 0 && r->spared && strcmp(e->d_name, r->spared) == 0))
            continue;
        err = tree_remove(r, dirfd(dir), owner, e->d_name, depth + 1);
        failed = failed ? failed : err;
    }
    failed = failed ? failed : errno;
    closedir(dir);
    return failed;
}

/* Moves a directory to the top, where the next pass meets it. */
static int deep_move(struct tree_removal *r, int at, const char *name)
{
    char moved[48];

    snprintf(moved, sizeof(moved), ".mlaunch-deep.%u", r->moved++);
    if (renameat(at, name, r->top, moved))
        return errno;
    r->has_moved = true;
    return 0;
}

/* Removes `name` in `at`, a directory of the user `above`. 0 or errno. */
static int tree_remove(struct tree_removal *r, int at, uid_t above, const char *name, int depth)
{
    uid_t owner = 0;
    struct stat st;
    int fd, err;

    if (above != geteuid() && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_uid != above)
        return EPERM;
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    if (unlinkat(at, name, AT_REMOVEDIR) == 0)
        return 0;
    if (depth > DEPTH_MOST)
        return deep_move(r, at, name);
    fd = directory_open(at, above, name, &owner);
    if (fd < 0)
        return errno == EXDEV ? EBUSY : errno;
    err = directory_clear(r, fd, owner, depth);
    return unlinkat(at, name, AT_REMOVEDIR) == 0 ? 0 : err ? err : errno;
}

/* Empties a directory of this user's, which is open, in as many passes as it needs. 0 or errno. */
static int top_clear(int top, const char *spared)
{
    struct tree_removal r = {.top = top, .spared = spared};
    int err = 0;

    do {
        int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        r.has_moved = false;
        err = fd < 0 ? errno : directory_clear(&r, fd, geteuid(), 0);
    } while (r.has_moved);
    return err;
}

/* Looking into a directory takes memory and a descriptor, which may be there a moment later. */
static bool is_worth_another_try(int tries)
{
    bool is_passing = errno == ENOMEM || errno == EMFILE || errno == ENFILE || errno == EINTR;

    if (is_passing && tries < TRIES)
        poll(NULL, 0, PAUSE_MS);
    return is_passing && tries < TRIES;
}

/* Opens a directory of this user's, unless something is mounted there. */
static int top_open(int at, const char *name)
{
    uid_t owner;
    int fd = directory_open(at, geteuid(), name, &owner);

    if (fd >= 0 && owner != geteuid()) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

static bool name_remove(int at, const char *name)
{
    struct stat st;
    int top, err;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT;
    if (st.st_uid != geteuid()) {
        errno = EPERM;
        return false;
    }
    if (!S_ISDIR(st.st_mode))
        return unlinkat(at, name, 0) == 0 || errno == ENOENT;
    top = top_open(at, name);
    if (top < 0) {
        errno = errno == EXDEV ? EBUSY : errno;
        return errno == ENOENT;
    }
    err = top_clear(top, NULL);
    close(top);
    if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    errno = err ? err : errno;
    return false;
}

/* Opens the directory that `path` is in, and finds its name there. -1 with errno. */
static int parent_open(const char *path, const char **name)
{
    const char *last = strrchr(path, '/');
    char parent[PATH_MAX];

    if (!last || !last[1] ||
        snprintf(parent, sizeof(parent), "%.*s", last == path ? 1 : (int)(last - path), path) >=
            (int)sizeof(parent)) {
        errno = EINVAL;
        return -1;
    }
    *name = last + 1;
    return open(parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool path_remove(const char *path)
{
    const char *name;
    int at = parent_open(path, &name), err;
    bool is_gone;

    if (at < 0)
        return errno == ENOENT;
    is_gone = name_remove(at, name);
    err = errno;
    close(at);
    errno = err;
    return is_gone;
}

static bool path_empty(const char *path, const char *spared)
{
    const char *name;
    int at = parent_open(path, &name), top = at < 0 ? -1 : top_open(at, name), err = errno;

    if (at >= 0)
        close(at);
    if (top >= 0) {
        err = top_clear(top, spared);
        close(top);
    }
    errno = err;
    return err == 0;
}

bool tree_removal_run(int at, const char *name)
{
    for (int tries = 1;; tries++) {
        if (name_remove(at, name))
            return true;
        if (!is_worth_another_try(tries))
            return false;
    }
}

bool tree_removal_run_path(const char *path)
{
    for (int tries = 1;; tries++) {
        if (path_remove(path))
            return true;
        if (!is_worth_another_try(tries))
            return false;
    }
}

bool tree_removal_empty(const char *path, const char *spared)
{
    for (int tries = 1;; tries++) {
        if (path_empty(path, spared))
            return true;
        if (!is_worth_another_try(tries))
            return false;
    }
}
