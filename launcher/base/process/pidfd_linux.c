/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/pidfd_linux.h"

#include <sys/syscall.h>
#include <unistd.h>

int pidfd_linux_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}
