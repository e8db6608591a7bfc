/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/close_range_linux.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* on every processor but Alpha */
#endif

enum { CLOEXEC_FLAG = 1U << 2 /* CLOSE_RANGE_CLOEXEC */ };

int close_range_now(int first)
{
    return (int)syscall(SYS_close_range, (unsigned)first, ~0U, 0U);
}

int close_range_at_exec(int first)
{
    return (int)syscall(SYS_close_range, (unsigned)first, ~0U, CLOEXEC_FLAG);
}
