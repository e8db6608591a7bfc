/* SPDX-License-Identifier: MIT */
#include "runtime/process/thread_linux.h"

#include <sys/syscall.h>
#include <unistd.h>

int thread_self(void)
{
    static _Thread_local int number; /* gettid() is a system call */

    if (!number)
        number = (int)syscall(SYS_gettid);
    return number;
}

bool thread_exists(int number)
{
    return syscall(SYS_tgkill, getpid(), number, 0) == 0;
}
