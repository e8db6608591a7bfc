/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/side_thread.h"

#include "common/quiet_thread.h"

#include <signal.h>
#include <time.h>

/* Ignored by default and not used otherwise: a stray one does no harm. */
enum { WAKE_SIGNAL = SIGURG, NUDGE_MS = 10 };

static void signal_ignore(int signal)
{
    (void)signal;
}

int side_thread_start(struct side_thread *t, void *(*run)(void *arg), void *arg, const char *what,
                      struct fault *why)
{
    struct sigaction interrupt = {.sa_handler = signal_ignore}; /* no SA_RESTART */
    int err;

    sigaction(WAKE_SIGNAL, &interrupt, NULL);
    err = quiet_thread_start(&t->thread, WAKE_SIGNAL, run, arg);
    if (err)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot start a thread for %s", what);
    t->started = true;
    return 0;
}

bool side_thread_is_stopping(struct side_thread *t)
{
    return atomic_load(&t->stopping);
}

void side_thread_ask_to_stop(struct side_thread *t)
{
    atomic_store(&t->stopping, true);
}

void side_thread_stop(struct side_thread *t)
{
    struct timespec until;

    if (!t->started)
        return;
    side_thread_ask_to_stop(t);
    /* Repeated, because a signal may arrive between the thread's check of the flag and its system
     * call. */
    do {
        pthread_kill(t->thread, WAKE_SIGNAL);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NUDGE_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
    } while (pthread_timedjoin_np(t->thread, NULL, &until));
    t->started = false;
}
