/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/self_stop.h"

#include <signal.h>
#include <stddef.h>

void self_stop(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, ours;

    sigaction(SIGTSTP, &usual, &ours);
    raise(SIGTSTP); /* to this thread: on return the process has been stopped and continued */
    sigaction(SIGTSTP, &ours, NULL);
}
