/* SPDX-License-Identifier: MIT */
/* names_sysfs.c: small files of sysfs, which librdmacm and ibv_devinfo read by these names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Private to rdma-core; not in verbs.h. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

static struct {
    pthread_once_t once; /* path is written in it */
    char path[256];
} sysfs = {.once = PTHREAD_ONCE_INIT};

/* Programs that run with another's rights don't follow the environment. */
static void sysfs_find(void)
{
    const char *path = secure_getenv("SYSFS_PATH");
    size_t size;

    snprintf(sysfs.path, sizeof(sysfs.path), "%s", path ? path : "/sys");
    size = strlen(sysfs.path);
    while (size > 0 && sysfs.path[size - 1] == '/')
        sysfs.path[--size] = '\0';
}

/* Where sysfs is mounted, without a final slash. Owned here. Any thread. */
const char *ibv_get_sysfs_path(void)
{
    pthread_once(&sysfs.once, sysfs_find);
    return sysfs.path;
}

/* Fills buf with DIR/FILE, without a final newline and with a final zero. Returns its length, or -1
 * with errno set, also if the file does not fit. Any thread. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    char path[PATH_MAX];
    ssize_t count;
    int fd, err;

    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    count = read(fd, buf, size);
    err = errno;
    close(fd);
    if (count < 0) {
        errno = err;
        return -1;
    }
    if (count > 0 && buf[count - 1] == '\n')
        count--;
    if ((size_t)count == size) {
        errno = EOVERFLOW;
        return -1;
    }
    buf[count] = '\0';
    return (int)count;
}
