/* SPDX-License-Identifier: MIT */
#include "common/net/shared_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x4d4c4350, HEAD = 64, FILE_FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW };

/* What the file begins with; the bytes follow at HEAD. */
struct head {
    uint32_t magic;
    _Atomic int readers; /* that have not mapped it yet */
};
_Static_assert(sizeof(struct head) <= HEAD, "the bytes follow the head");

static void copy_path(char path[PATH_MAX], const char *dir, uint32_t number)
{
    const char *slash = strrchr(dir, '/');

    snprintf(path, PATH_MAX, "/dev/shm/mlaunch-%u-%s.copy.%u", (unsigned)geteuid(),
             slash ? slash + 1 : dir, number);
}

/* posix_fallocate: writing to a page that /dev/shm has no room for would end the process. */
static int copy_fill(int fd, int readers, const void *bytes, size_t size)
{
    uint8_t *map;
    int err;

    do
        err = posix_fallocate(fd, 0, (off_t)(HEAD + size));
    while (err == EINTR); /* a rank has ended, for instance */
    if (err)
        return err;
    map = mmap(NULL, HEAD + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return errno;
    *(struct head *)map = (struct head){MAGIC, readers};
    memcpy(map + HEAD, bytes, size);
    munmap(map, HEAD + size);
    return 0;
}

int shared_copy_write(const char *dir, uint32_t number, int readers, const void *bytes, size_t size,
                      struct fault *why)
{
    char path[PATH_MAX];
    int fd, err;

    copy_path(path, dir, number);
    fd = open(path, FILE_FLAGS | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", path);
    err = copy_fill(fd, readers, bytes, size);
    close(fd);
    if (!err)
        return 0;
    unlink(path);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot write %s", path);
}

/* Removes the file's name if all others have mapped it. False: it is no such file. */
static bool copy_count(int fd, const char *path)
{
    struct head *head = mmap(NULL, HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    bool is_one = head != MAP_FAILED && head->magic == MAGIC;

    if (is_one && atomic_fetch_sub(&head->readers, 1) == 1)
        unlink(path);
    if (head != MAP_FAILED)
        munmap(head, HEAD);
    return is_one;
}

int shared_copy_map(struct shared_copy *out, const char *dir, uint32_t number, struct fault *why)
{
    char path[PATH_MAX];
    struct stat st;
    void *map;
    int fd, err;

    copy_path(path, dir, number);
    fd = open(path, FILE_FLAGS);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open %s", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size <= HEAD ||
        !copy_count(fd, path)) {
        close(fd);
        return fault_set(why, ML_ERR_REFUSED, "%s is not what the agent of this host has written",
                         path);
    }
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    err = errno;
    close(fd);
    if (map == MAP_FAILED)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot map %s", path);
    *out = (struct shared_copy){(const uint8_t *)map + HEAD, (size_t)st.st_size - HEAD, map};
    return 0;
}

void shared_copy_unmap(struct shared_copy *copy)
{
    if (copy->map)
        munmap(copy->map, HEAD + copy->size);
    *copy = (struct shared_copy){0};
}
