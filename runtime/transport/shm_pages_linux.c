/* SPDX-License-Identifier: MIT */
/*
 * shm_pages_linux.c: to write to a page of a file for which its file system has no room is SIGBUS.
 * But a system call that would write there fails with EFAULT. This needs no descriptor, which a
 * program may have closed by then, as fallocate(2) does, and no Linux 5.14, as MADV_POPULATE_WRITE.
 */
#include "runtime/transport/shm_pages_linux.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNAL_SET = 8 }; /* bytes of the kernel's */

bool shm_pages_take(void *memory, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *at = memory;
    const unsigned char *end = at + size;

    while (at < end) {
        /* Only asks which signals are blocked. */
        if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, at, SIGNAL_SET) != 0)
            return false;
        memset(at, 0, SIGNAL_SET);
        at += page - (uintptr_t)at % page;
    }
    return true;
}
