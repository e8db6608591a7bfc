/* SPDX-License-Identifier: MIT */
#include "runtime/process/claim.h"

#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A POSIX record lock belongs to the process, so a fork does not pass it on. In return, closing any
 * descriptor of the file drops the lock: only this file opens it, once, under world_join.c's
 * lock. */
struct claim {
    int fd;
};

/* The file has a record for each rank of the job, as text that ends in a newline or a 0. One file
 * for all: where 1,000 ranks each made their own, they waited for each other's. */
enum { RECORD_SIZE = 64, CLAIM_FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW };

static off_t record_at(int rank)
{
    return (off_t)rank * RECORD_SIZE;
}

static int claim_lock(int fd, int rank, struct fault *why)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = record_at(rank), .l_len = RECORD_SIZE};
    int err;

    if (fcntl(fd, F_SETLK, &lock) == 0)
        return 0;
    err = errno;
    if (err != EAGAIN && err != EACCES)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot lock the claim of rank %d", rank);
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        return fault_set(why, ML_ERR_STATE,
                         "rank %d is held by process %ld: one process at a time can be a rank",
                         rank, (long)lock.l_pid);
    return fault_set(why, ML_ERR_STATE, "rank %d was held by a process that has just ended", rank);
}

static int claim_write(int fd, int rank, uint32_t generation, struct fault *why)
{
    char record[RECORD_SIZE] = "";

    snprintf(record, sizeof(record), "%ld %u\n", (long)getpid(), (unsigned)generation);
    if (pwrite(fd, record, sizeof(record), record_at(rank)) != RECORD_SIZE)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write the claim of rank %d", rank);
    return 0;
}

/* Reads the counter, adds 1, and writes it back with this process's pid. */
static int claim_count(int fd, int rank, uint32_t *generation, struct fault *why)
{
    char text[RECORD_SIZE + 1] = "";
    long pid;
    unsigned count = 0;

    if (pread(fd, text, RECORD_SIZE, record_at(rank)) < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read the claim of rank %d", rank);
    if (text[0] && sscanf(text, "%ld %u", &pid, &count) != 2)
        return fault_set(why, ML_ERR_SYSTEM, "the claim of rank %d is damaged", rank);
    *generation = count + 1;
    return claim_write(fd, rank, *generation, why);
}

static void claim_broken_path(char path[PATH_MAX], const char *dir, int rank)
{
    snprintf(path, PATH_MAX, "%s/rank.%d.broken", dir, rank);
}

void claim_clear_broken(const char *dir, int rank)
{
    char path[PATH_MAX];

    claim_broken_path(path, dir, rank);
    unlink(path);
}

int claim_take(struct claim **out, const char *dir, int rank, uint32_t *generation,
               struct fault *why)
{
    char path[PATH_MAX];
    struct claim *c = malloc(sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(path, sizeof(path), "%s/claims", dir);
    /* With O_CREAT the kernel locks the directory, although the file is there for all but one. */
    c->fd = open(path, CLAIM_FLAGS);
    if (c->fd < 0 && errno == ENOENT)
        c->fd = open(path, CLAIM_FLAGS | O_CREAT, 0600);
    if (c->fd < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot open %s", path);
        goto fail;
    }
    fork_guard_add(c->fd);
    rc = claim_lock(c->fd, rank, why);
    if (rc)
        goto fail;
    rc = claim_count(c->fd, rank, generation, why);
    if (rc)
        goto fail;
    if (*generation > 1)
        claim_clear_broken(dir, rank);
    *out = c;
    return 0;
fail:
    claim_release(c);
    return rc;
}

int claim_set(struct claim *c, int rank, uint32_t generation, struct fault *why)
{
    return claim_write(c->fd, rank, generation, why);
}

void claim_release(struct claim *c)
{
    if (!c)
        return;
    fork_guard_close(c->fd);
    free(c);
}

void claim_mark_broken(const char *dir, int rank, const char *text)
{
    char path[PATH_MAX];
    int fd;

    claim_broken_path(path, dir, rank);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    /* The agent looks only whether the file exists; its text is for people. */
    if (write(fd, text, strlen(text)) < 0)
        errno = 0;
    close(fd);
}
