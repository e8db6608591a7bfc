/* SPDX-License-Identifier: MIT */
#include "common/quiet_thread.h"

#include <signal.h>

/* A thread inherits its creator's mask. Blocked before it exists, so that no signal finds it before
 * it could block them itself. */
int quiet_thread_start(pthread_t *thread, int taken, void *(*run)(void *arg), void *arg)
{
    sigset_t blocked, before;
    int err;

    sigfillset(&blocked);
    if (taken)
        sigdelset(&blocked, taken);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    err = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}
