/* SPDX-License-Identifier: MIT */
#include "runtime/group/bell.h"

#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void bell_path(char path[PATH_MAX], const char *dir, uint32_t generation, uint32_t group,
                      int rank)
{
    snprintf(path, PATH_MAX, "%s/rank.%d.bell.%u.%u", dir, rank, generation, group);
}

/* Both sides open it for reading and writing, so that opening never waits for the other side and
 * ringing the bell of a process that has just died raises no SIGPIPE. */
enum { BELL_FLAGS = O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW };

int bell_make(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              struct fault *why)
{
    char path[PATH_MAX];
    int rc;

    bell_path(path, dir, generation, group, rank);
    if (mkfifo(path, 0600) != 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make the FIFO %s", path);
    rc = bell_find(fd, dir, generation, group, rank, why);
    if (rc)
        unlink(path);
    return rc;
}

void bell_remove(int fd, const char *dir, uint32_t generation, uint32_t group, int rank)
{
    char path[PATH_MAX];

    if (fd < 0)
        return;
    bell_path(path, dir, generation, group, rank);
    unlink(path);
    fork_guard_close(fd);
}

int bell_find(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              struct fault *why)
{
    char path[PATH_MAX];
    int found;

    bell_path(path, dir, generation, group, rank);
    found = open(path, BELL_FLAGS);
    if (found < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open the FIFO %s%s", path,
                        errno == EMFILE ? " (a group needs a descriptor for each other rank: "
                                          "free some, or raise `ulimit -n`)"
                                        : "");
    fork_guard_add(found);
    *fd = found;
    return 0;
}

bool bell_ring(int fd)
{
    ssize_t n;

    do
        n = write(fd, "", 1);
    while (n < 0 && errno == EINTR);
    return n == 1 || errno == EAGAIN; /* a full FIFO wakes its owner just as well */
}

void bell_silence(int fd)
{
    char bytes[64];
    ssize_t n;

    do
        n = read(fd, bytes, sizeof(bytes));
    while (n == (ssize_t)sizeof(bytes) || (n < 0 && errno == EINTR));
}
