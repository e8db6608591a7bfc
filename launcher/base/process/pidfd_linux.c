/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/pidfd_linux.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { END_MS = 2000 };

int pidfd_linux_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void pidfd_linux_kill(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0))
        return;
    while (poll(&p, 1, END_MS) < 0 && errno == EINTR)
        ;
}
