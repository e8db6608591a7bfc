/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/tree_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OTHERS = 1000 }; /* descriptors besides: of roots, hosts, connections */

void tree_place_open(struct tree_place *p, int root)
{
    p->root = root;
    p->fd = -1;
    p->path[0] = '\0';
}

void tree_place_close(struct tree_place *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
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
    size_t size = slash ? (size_t)(slash - path) : 0, known = p->fd < 0 ? 0 : strlen(p->path);
    int from = p->root, fd, err;

    *name = slash ? slash + 1 : path;
    if (!slash)
        return p->root;
    if (size >= sizeof(p->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (known > size || strncmp(p->path, path, known) != 0 || (known > 0 && path[known] != '/'))
        known = 0;
    if (known == size)
        return p->fd;
    if (known > 0)
        from = p->fd; /* what is looked for is below it */
    memcpy(p->path, path, size);
    p->path[size] = '\0';
    fd = directory_open(from, p->path + (known ? known + 1 : 0));
    err = errno;
    tree_place_close(p);
    p->fd = fd;
    errno = err;
    return fd;
}

void tree_place_allow_depth(void)
{
    const rlim_t need = TREE_DEPTH_MOST + OTHERS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
