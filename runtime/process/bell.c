/* SPDX-License-Identifier: MIT */
#include "runtime/process/bell.h"

#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Both sides open it for reading and writing, so that opening never waits for the other side and
 * ringing the bell of a process that has just died raises no SIGPIPE. */
enum { BELL_FLAGS = O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW };

/* A bell is in /dev/shm, where it costs the least: with 1,000 ranks on a host, their FIFOs in a
 * directory of ext4 took as long as all the rest of ml_init. It is in the job's directory where
 * /dev/shm takes no file, or another user's file has the name. */
enum { IN_MEMORY, IN_DIRECTORY, PLACES };

/* Whose bells these are: the user that this process was when it first asked. The program may have
 * become another one since. */
static uid_t bell_owner(void)
{
    static _Atomic uid_t owner = (uid_t)-1;
    uid_t none = (uid_t)-1;

    atomic_compare_exchange_strong(&owner, &none, geteuid());
    return owner;
}

static void bell_path(char path[PATH_MAX], int place, const char *dir, uint32_t generation,
                      uint32_t group, int rank)
{
    const char *slash = strrchr(dir, '/');

    if (place == IN_MEMORY)
        snprintf(path, PATH_MAX, "/dev/shm/mlaunch-%u-%s.bell.%d.%u.%u", (unsigned)bell_owner(),
                 slash ? slash + 1 : dir, rank, generation, group);
    else
        snprintf(path, PATH_MAX, "%s/rank.%d.bell.%u.%u", dir, rank, generation, group);
}

int bell_make(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              bool is_alone, struct fault *why)
{
    char path[PATH_MAX];
    int rc;

    /* Peers take no bell in /dev/shm that is another user's. */
    for (int place = bell_owner() == geteuid() ? IN_MEMORY : IN_DIRECTORY; place < PLACES;
         place++) {
        bell_path(path, place, dir, generation, group, rank);
        if (is_alone)
            unlink(path); /* an earlier process of the rank has died before it did that itself */
        if (mkfifo(path, 0600) == 0) {
            rc = bell_find(fd, dir, generation, group, rank, why);
            if (rc || is_alone)
                unlink(path);
            return rc;
        }
    }
    return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make the FIFO %s", path);
}

void bell_remove(int fd, const char *dir, uint32_t generation, uint32_t group, int rank)
{
    char path[PATH_MAX];

    if (fd < 0)
        return;
    for (int place = 0; place < PLACES; place++) {
        bell_path(path, place, dir, generation, group, rank);
        if (unlink(path) == 0)
            break;
    }
    fork_guard_close(fd);
}

/* -1: errno. */
static int bell_open(const char *path)
{
    int fd = open(path, BELL_FLAGS);
    struct stat st;

    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && st.st_uid == bell_owner()))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

int bell_find(int *fd, const char *dir, uint32_t generation, uint32_t group, int rank,
              struct fault *why)
{
    char path[PLACES][PATH_MAX];
    int found = -1, err[PLACES] = {0}, at;

    for (int place = 0; place < PLACES && found < 0; place++) {
        bell_path(path[place], place, dir, generation, group, rank);
        found = bell_open(path[place]);
        err[place] = errno;
    }
    at = err[IN_MEMORY] == ENOENT ? IN_DIRECTORY : IN_MEMORY;
    if (found < 0)
        return fault_os(why, ML_ERR_SYSTEM, err[at], "cannot open the FIFO %s%s", path[at],
                        err[at] == EMFILE ? " (a group needs a descriptor for each other rank: "
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
