/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_writing.h"

#include "launcher/agent/facts/fact_file.h"
#include "launcher/base/text/temporary_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns an errno. Room is taken before it is mapped, as otherwise a full disk would be SIGBUS. */
static int file_fill(int fd)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *at;
    int err;

    do
        err = posix_fallocate(fd, 0, (off_t)size);
    while (err == EINTR);
    if (err)
        return err;
    if (pwrite(fd, "x", 1, 0) != 1)
        return errno;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return errno;
    at[size - 1] = 'x';
    munmap(at, size);
    return 0;
}

static void place_try(json_t *out, const char *key, const char *directory)
{
    char path[FACT_PATH];
    int fd, err;

    fact_file_path(path, directory, "/mlaunch-%u-try.XXXXXX", (unsigned)geteuid());
    fd = mkostemp(path, O_CLOEXEC);
    err = fd < 0 ? errno : file_fill(fd);
    if (fd >= 0) {
        close(fd);
        if (unlink(path) && !err)
            err = errno;
    }
    if (err)
        fact_put_text(out, key, strerror(err));
}

void facts_writing_try(json_t *out)
{
    char own[FACT_PATH], cache[FACT_PATH];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);
    const char *home = getenv("HOME");

    place_try(out, "no_tmp", temporary_directory(""));
    place_try(out, "no_shm", "/dev/shm");
    if (size <= 0 || !home || !*home)
        return;
    own[size] = '\0';
    fact_file_path(cache, home, "/.cache/mlaunch");
    if (strncmp(own, cache, strlen(cache)) == 0)
        place_try(out, "no_cache", cache);
}
