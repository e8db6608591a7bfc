/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_pin_linux.h"

#include <linux/capability.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_ulong pinned; /* pages, of all regions of the process */

static unsigned long pages_of(const void *address, size_t length)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)address;

    return (at + length + page - 1) / page - at / page;
}

static bool may_lock_all(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    return syscall(SYS_capget, &head, data) == 0 && data[0].effective & 1U << CAP_IPC_LOCK;
}

bool standin_pin(const void *address, size_t length)
{
    const unsigned long pages = pages_of(address, length);
    const unsigned long now = atomic_fetch_add(&pinned, pages) + pages;
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        now <= limit.rlim_cur / (rlim_t)sysconf(_SC_PAGESIZE) || may_lock_all())
        return true;
    atomic_fetch_sub(&pinned, pages);
    return false;
}

void standin_unpin(const void *address, size_t length)
{
    atomic_fetch_sub(&pinned, pages_of(address, length));
}
