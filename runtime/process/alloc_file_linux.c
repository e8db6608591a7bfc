/* SPDX-License-Identifier: MIT */
#include "runtime/process/alloc_file_linux.h"

#include "runtime/process/stdio_guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3, which would like to be told */
#endif

static const off_t file_size = (off_t)1 << (sizeof(off_t) > 4 ? 60 : 30);

static bool is_tried; /* to make it */
static struct alloc_file file = {.fd = -1};
static off_t used;

/* Where memory is promised to those only who can have it all (2), a page of a file may be refused
 * when it is first touched, by SIGBUS. */
static bool is_commit_strict(void)
{
    char mode = '2';
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return true;
    if (read(fd, &mode, 1) != 1)
        mode = '2';
    close(fd);
    return mode == '2';
}

/* To go beyond the limit of a file's size would be a signal. */
static bool is_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < (rlim_t)file_size;
}

static int alloc_file_open(void)
{
    int held[STDIO_GUARD], fd;

    stdio_guard_begin(held);
    fd = memfd_create("mlaunch", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0)
        fd = memfd_create("mlaunch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    stdio_guard_end(held);
    return fd;
}

static void alloc_file_make(void)
{
    struct stat st;
    int fd;

    is_tried = true;
    if (is_commit_strict() || is_limited())
        return;
    fd = alloc_file_open();
    if (fd < 0)
        return;
    if (ftruncate(fd, file_size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) ||
        fstat(fd, &st)) {
        close(fd);
        return;
    }
    file = (struct alloc_file){
        .pid = (int32_t)getpid(), .fd = fd, .device = st.st_dev, .inode = st.st_ino};
}

/* A program may close descriptors that it doesn't know, and the number may be another file's
 * now. */
static bool alloc_file_is_ours(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == file.device && st.st_ino == file.inode;
}

void *alloc_file_map(size_t size, uint64_t *offset)
{
    void *at;

    if (!is_tried)
        alloc_file_make();
    if (!alloc_file_is_ours(file.fd) || size > (size_t)(file_size - used))
        return NULL;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, used);
    if (at == MAP_FAILED)
        return NULL;
    *offset = (uint64_t)used;
    used += (off_t)size;
    return at;
}

/* Refused for what the program has locked, maybe with all of its memory (mlockall), or made
 * read-only. */
void alloc_file_unmap(void *memory, size_t size)
{
    if (madvise(memory, size, MADV_REMOVE)) {
        munlock(memory, size);
        mprotect(memory, size, PROT_READ | PROT_WRITE);
        madvise(memory, size, MADV_REMOVE);
    }
    munmap(memory, size);
}

struct alloc_file alloc_file_name(void)
{
    return file;
}

void alloc_file_leave(void)
{
    if (alloc_file_is_ours(file.fd))
        close(file.fd);
    file.fd = -1;
    is_tried = false;
    used = 0;
}
