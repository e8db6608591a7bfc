/* SPDX-License-Identifier: MIT */
#include "launcher/agent/children/worker_child_linux.h"

#include "launcher/base/process/close_range_linux.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 };

void worker_child_begin(int fd)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (fd != WORKER_CHILD_FD && dup2(fd, WORKER_CHILD_FD) < 0)
        _exit(1);
    if (close_range_now(WORKER_CHILD_FD + 1))
        for (int i = WORKER_CHILD_FD + 1; i < DESCRIPTORS; i++)
            close(i);
}
