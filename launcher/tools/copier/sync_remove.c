/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_remove.h"

#include "launcher/base/tree/tree_exclude.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct listed {
    const struct tree_entry **entries; /* sorted */
    size_t count;
};

static int entry_compare(const void *a, const void *b)
{
    const struct tree_entry *x = *(const struct tree_entry *const *)a;
    const struct tree_entry *y = *(const struct tree_entry *const *)b;

    return x->root != y->root ? (int)x->root - (int)y->root : strcmp(x->path, y->path);
}

static bool is_listed(const struct listed *l, int root, char *path)
{
    const struct tree_entry key = {.root = (uint16_t)root, .path = path}, *at = &key;

    return bsearch(&at, l->entries, l->count, sizeof(at), entry_compare) != NULL;
}

/* Opens the directory again: the descriptor of readdir() is not to be shared. */
static DIR *directory_open(int fd, const char *name)
{
    int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = inner < 0 ? NULL : fdopendir(inner);

    if (inner >= 0 && !d)
        close(inner);
    return d;
}

/* The next name but "." and ".."; NULL: there is none. */
static const struct dirent *name_next(DIR *d)
{
    const struct dirent *e;

    do
        e = readdir(d);
    while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
    return e;
}

/* Not all file systems say so with the name: NFS, and ext4 and XFS that were made without it. What
 * nothing is known of is taken for one, since more is excluded then. */
static bool is_directory(DIR *d, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode);
}

static bool name_is_ours(const char *name)
{
    return strncmp(name, SYNC_TEMPORARY_START, strlen(SYNC_TEMPORARY_START)) == 0;
}

static int directory_visit(struct sync_copy *c, const struct listed *l, const struct tree_entry *e,
                           int (*visit)(void *arg, int root, int fd, const char *name,
                                        const char *path),
                           void *arg)
{
    char path[TREE_PATH_MOST + 1];
    const struct dirent *n;
    const char *name;
    int fd = sync_copy_go(c, e->root, e->path, &name), rc = 0;
    DIR *d = fd < 0 ? NULL : directory_open(fd, name);

    while (d && !rc && (n = name_next(d))) {
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", e->path, n->d_name) >= sizeof(path) ||
            name_is_ours(n->d_name) || is_listed(l, e->root, path) ||
            tree_exclude_has(c->order->exclude, path, is_directory(d, n)))
            continue;
        rc = visit(arg, e->root, dirfd(d), n->d_name, path);
    }
    if (d)
        closedir(d);
    return rc;
}

int sync_remove_visit(struct sync_copy *c,
                      int (*visit)(void *arg, int root, int fd, const char *name, const char *path),
                      void *arg, struct fault *why)
{
    struct listed l = {.count = c->list.count};
    int rc = 0;

    l.entries = calloc(l.count + 1, sizeof(*l.entries));
    if (!l.entries)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < c->list.count; i++)
        l.entries[i] = &c->list.entries[i];
    qsort(l.entries, l.count, sizeof(*l.entries), entry_compare);
    for (uint32_t i = 0; i < c->list.count && !rc; i++)
        if (c->list.entries[i].kind == TREE_DIRECTORY)
            rc = directory_visit(c, &l, &c->list.entries[i], visit, arg);
    free(l.entries);
    return rc;
}

/* There is one path for all calls of tree_remove(), since a path in each would be more than the
 * stack holds in a deep tree. */
struct removal {
    struct sync_copy *copy;
    int root;
    bool is_too_deep;
    char path[TREE_PATH_MOST + 1 + sizeof(((struct dirent *)0)->d_name)]; /* being removed */
};

/* Removes r->path, which is `name` in `fd`, and returns whether it is gone. What has failed in it
 * was reported, and what is excluded stays: then its directory need not be named. */
static bool tree_remove(struct removal *r, int fd, const char *name)
{
    struct sync_copy *c = r->copy;
    size_t end = strlen(r->path);
    const struct dirent *n;
    bool is_kept = false;
    int err;
    DIR *d;

    if (unlinkat(fd, name, 0) == 0) {
        c->deleted++;
        return true;
    }
    if (errno != EISDIR && errno != EPERM) {
        sync_copy_fail(c, "delete", r->root, r->path, errno, NULL);
        return false;
    }
    d = directory_open(fd, name);
    err = d ? 0 : errno;
    while (d && (n = name_next(d))) {
        snprintf(r->path + end, sizeof(r->path) - end, "/%s", n->d_name);
        if (tree_exclude_has(c->order->exclude, r->path, is_directory(d, n)))
            is_kept = true;
        else if (strlen(r->path) > TREE_PATH_MOST)
            is_kept = r->is_too_deep = true;
        else
            is_kept |= !tree_remove(r, dirfd(d), n->d_name);
    }
    r->path[end] = '\0';
    if (d)
        closedir(d);
    if (unlinkat(fd, name, AT_REMOVEDIR) == 0) {
        c->deleted++;
        return true;
    }
    if (!is_kept)
        sync_copy_fail(c, "delete", r->root, r->path, err ? err : errno, NULL);
    return false;
}

void sync_remove_tree(struct sync_copy *c, int root, int fd, const char *name, const char *path)
{
    struct removal r = {.copy = c, .root = root};
    char text[80];

    snprintf(r.path, sizeof(r.path), "%s", path);
    if (tree_remove(&r, fd, name) || !r.is_too_deep)
        return;
    snprintf(text, sizeof(text), "it has a path of more than %d bytes in it; delete it there",
             TREE_PATH_MOST);
    sync_copy_fail(c, "delete", root, path, 0, text);
}
