/* SPDX-License-Identifier: MIT */
#include "runtime/process/alloc_file_linux.h"

#include "runtime/process/stdio_guard.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* from Linux 6.3 on, which warns if neither seal is chosen */
#endif

static const off_t file_size = (off_t)1 << (sizeof(off_t) > 4 ? 60 : 30);

/* Under alloc.c's lock. */
static struct {
    bool is_tried; /* making the file has been tried */
    struct alloc_file file;
    off_t used; /* bytes of it, so far */
} own = {.file = {.fd = -1}};

/* With strict overcommit (vm.overcommit_memory = 2) the first touch of a file page may fail with
 * SIGBUS. */
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

/* Exceeding the limit of a file's size would raise a signal (SIGXFSZ). */
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

    own.is_tried = true;
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
    own.file = (struct alloc_file){
        .pid = (int32_t)getpid(), .fd = fd, .device = st.st_dev, .inode = st.st_ino};
}

/* True if `fd` is still the file: a program may close descriptors that it doesn't know, and the
 * number may be another file's now. */
static bool alloc_file_is_ours(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == own.file.device &&
           st.st_ino == own.file.inode;
}

void *alloc_file_map(size_t size, uint64_t *offset)
{
    void *at;

    if (!own.is_tried)
        alloc_file_make();
    if (!alloc_file_is_ours(own.file.fd) || size > (size_t)(file_size - own.used))
        return NULL;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, own.file.fd, own.used);
    if (at == MAP_FAILED)
        return NULL;
    *offset = (uint64_t)own.used;
    own.used += (off_t)size;
    return at;
}

/* MADV_REMOVE is refused for memory that the program has locked, maybe with all of its memory
 * (mlockall), or made read-only. */
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
    return own.file;
}

void alloc_file_leave(void)
{
    if (alloc_file_is_ours(own.file.fd))
        close(own.file.fd);
    own.file.fd = -1;
    own.is_tried = false;
    own.used = 0;
}
