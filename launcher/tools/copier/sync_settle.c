/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_copy.h"

#include "launcher/base/tree/sync_wire.h"
#include "launcher/tools/copier/sync_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int extra_remove(void *arg, int root, int fd, const char *name, const char *path)
{
    sync_remove_tree(arg, root, fd, name, path);
    return 0;
}

/* A directory never gives way to something else, nor something else to a directory, unless the
 * user wants things deleted. */
static void kind_settle(struct sync_copy *c, uint32_t index)
{
    const struct tree_entry *e = &c->list.entries[index];
    const char *name;
    struct stat st;
    int fd = sync_copy_go(c, e->root, e->path, &name);

    if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
        (!S_ISDIR(st.st_mode) && e->kind != TREE_DIRECTORY))
        return;
    if (c->order->is_delete)
        sync_remove_tree(c, e->root, fd, name, e->path);
    else
        sync_copy_fail(c, "replace", e->root, e->path, 0,
                       S_ISDIR(st.st_mode) ? "a directory there, a file here; --delete replaces it"
                       : S_ISLNK(st.st_mode)
                           ? "a symbolic link there, a directory here; --delete replaces "
                             "the link"
                           : "a file there, a directory here; --delete replaces it");
}

static void directory_settle(struct sync_copy *c, const struct tree_entry *e)
{
    const char *name;
    struct stat st;
    int fd = sync_copy_go(c, e->root, e->path, &name), inner;

    if (fd < 0) {
        if (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)
            c->failed++; /* the one above it has been named */
        else
            sync_copy_fail(c, "make", e->root, e->path, errno, NULL);
        return;
    }
    if (mkdirat(fd, name, 0700) == 0)
        return;
    if (errno != EEXIST) {
        sync_copy_fail(c, "make", e->root, e->path, errno, NULL);
        return;
    }
    /* Until the end it must be possible to write in it. */
    inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0 && fstat(inner, &st) == 0 && (st.st_mode & 0700) != 0700)
        fchmod(inner, (st.st_mode & 07777) | 0700);
    if (inner >= 0)
        close(inner);
}

int sync_settle_before(struct sync_copy *c, struct fault *why)
{
    int rc = c->order->is_delete ? sync_remove_visit(c, extra_remove, c, why) : 0;

    for (uint32_t i = 0; i < c->list.count && !rc; i++) {
        if (c->differs[i] & SYNC_HAS_OTHER_KIND)
            kind_settle(c, i);
        if (c->list.entries[i].kind == TREE_DIRECTORY)
            directory_settle(c, &c->list.entries[i]);
    }
    for (int i = 0; i < c->order->root_count; i++)
        tree_place_close(&c->places[i]); /* what it stands for may have been replaced */
    return rc;
}

/* Makes a link under the temporary name, and puts it in its place. */
static void link_settle(struct sync_copy *c, const struct tree_entry *e)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                      {.tv_sec = (time_t)e->seconds, .tv_nsec = e->nanoseconds}};
    char temporary[SYNC_TEMPORARY];
    const char *name, *first;
    int fd = sync_copy_go(c, e->root, e->path, &name), from, err = 0;

    if (fd < 0) {
        c->failed++; /* its directory has been named before */
        return;
    }
    sync_copy_temporary(temporary, name);
    unlinkat(fd, temporary, 0);
    if (e->kind == TREE_LINK) {
        if (symlinkat(e->target, fd, temporary))
            err = errno;
        else
            utimensat(fd, temporary, times, AT_SYMLINK_NOFOLLOW);
    } else {
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* going elsewhere closes it */
        from = fd < 0 ? -1 : sync_copy_go(c, e->root, c->list.entries[e->first].path, &first);
        if (from < 0 || linkat(from, first, fd, temporary, 0))
            err = errno;
    }
    /* rename() does nothing if both are names of one file. */
    if (!err && renameat(fd, temporary, fd, name))
        err = errno;
    if (fd >= 0)
        unlinkat(fd, temporary, 0);
    if (e->kind != TREE_LINK && fd >= 0)
        close(fd);
    if (err)
        sync_copy_fail(c, "make the link", e->root, e->path, err, NULL);
    else
        c->files++;
}

/* Whether a name is that of its file already. */
static bool name_is_right(struct sync_copy *c, const struct tree_entry *e)
{
    const struct tree_entry *first = &c->list.entries[e->first];
    struct stat a, b;
    const char *name;
    int fd = sync_copy_go(c, e->root, first->path, &name);

    if (fd < 0 || fstatat(fd, name, &a, AT_SYMLINK_NOFOLLOW))
        return false;
    fd = sync_copy_go(c, e->root, e->path, &name);
    return fd >= 0 && fstatat(fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Before glibc 2.32 fchmodat() knows no AT_SYMLINK_NOFOLLOW. */
static int mode_set(int fd, const char *name, mode_t mode)
{
    int file, rc = fchmodat(fd, name, mode, AT_SYMLINK_NOFOLLOW);

    if (rc == 0 || errno != EOPNOTSUPP)
        return rc;
    file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return -1;
    rc = fchmod(file, mode);
    close(file);
    return rc;
}

/* Mode and time, which need not be set if they are right. */
static void attributes_settle(struct sync_copy *c, const struct tree_entry *e)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = (time_t)e->seconds, .tv_nsec = e->nanoseconds}};
    mode_t type = e->kind == TREE_DIRECTORY ? S_IFDIR : S_IFREG;
    const char *name;
    struct stat st;
    int fd = sync_copy_go(c, e->root, e->path, &name), err = 0;

    if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) || (st.st_mode & S_IFMT) != type)
        return; /* that it is not there has been reported */
    if ((st.st_mtim.tv_sec != e->seconds || st.st_mtim.tv_nsec != (long)e->nanoseconds) &&
        utimensat(fd, name, times, AT_SYMLINK_NOFOLLOW))
        err = errno;
    if ((st.st_mode & 07777) != e->mode && mode_set(fd, name, e->mode))
        err = errno;
    if (err)
        sync_copy_fail(c, "set mode and time of", e->root, e->path, err, NULL);
}

void sync_settle_after(struct sync_copy *c)
{
    for (uint32_t i = 0; i < c->list.count; i++) {
        const struct tree_entry *e = &c->list.entries[i];

        if ((e->kind == TREE_LINK && c->differs[i]) ||
            (e->kind == TREE_OTHER_NAME && !name_is_right(c, e)))
            link_settle(c, e);
        else if (e->kind == TREE_FILE && c->differs[i] && !sync_copy_needs(c, i))
            attributes_settle(c, e);
    }
    /* What is in a directory changes its time, so the inner ones come first. */
    for (uint32_t i = c->list.count; i > 0; i--)
        if (c->list.entries[i - 1].kind == TREE_DIRECTORY)
            attributes_settle(c, &c->list.entries[i - 1]);
}
