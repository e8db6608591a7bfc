/* SPDX-License-Identifier: MIT */
#include "launcher/tree/tree_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void tree_place_open(struct tree_place *p, int root)
{
    p->root = root;
    p->fd = -1;
    p->path[0] = '\0';
}

void tree_place_forget(struct tree_place *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

void tree_place_close(struct tree_place *p)
{
    tree_place_forget(p);
}

/* Opens the directory `path` name by name: openat2() would do it at once, but is refused by older
 * kernels and by the filters of some containers. */
static int directory_open(int root, char *path)
{
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 3);

    while (fd >= 0 && *path) {
        size_t size = strcspn(path, "/");
        char end = path[size];
        int next, err;

        path[size] = '\0';
        next = openat(fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        err = errno;
        path[size] = end;
        close(fd);
        errno = err;
        fd = next;
        path += size + (end == '/');
    }
    return fd;
}

int tree_place_go(struct tree_place *p, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;

    *name = slash ? slash + 1 : path;
    if (!slash)
        return p->root;
    if (p->fd >= 0 && strncmp(p->path, path, size) == 0 && p->path[size] == '\0')
        return p->fd;
    tree_place_forget(p);
    if (size >= sizeof(p->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(p->path, path, size);
    p->path[size] = '\0';
    p->fd = directory_open(p->root, p->path);
    return p->fd;
}
