/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_turn.h"

#include "common/clock.h"
#include "runtime/process/bell.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { GRACE_NS = 200 * 1000 };

static int turn_make_waker(int waker[2])
{
    int held[STDIO_GUARD], rc;

    stdio_guard_begin(held);
    rc = pipe2(waker, O_CLOEXEC | O_NONBLOCK);
    stdio_guard_end(held);
    return rc ? errno : 0;
}

int window_turn_open(struct window_turn *t, struct fault *why)
{
    pthread_condattr_t attr;
    int err;

    *t = (struct window_turn){0};
    err = turn_make_waker(t->waker);
    if (err)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot make a pipe for a window");
    fork_guard_add(t->waker[0]);
    fork_guard_add(t->waker[1]);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->given, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->idle, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

void window_turn_close(struct window_turn *t)
{
    fork_guard_close(t->waker[0]);
    fork_guard_close(t->waker[1]);
    pthread_cond_destroy(&t->idle);
    pthread_cond_destroy(&t->given);
    pthread_mutex_destroy(&t->lock);
}

/* --- under the lock --------------------------------------------------------------------------- */

static void turn_rouse(struct window_turn *t)
{
    if (t->is_taken && !t->has_rung) {
        bell_ring(t->waker[1]);
        t->has_rung = true;
    }
}

static void turn_leave(struct window_turn *t)
{
    t->is_taken = false;
    if (t->wanted || t->followers)
        pthread_cond_broadcast(&t->given);
}

static void turn_silence(struct window_turn *t)
{
    if (t->has_rung)
        bell_silence(t->waker[0]);
    t->has_rung = false;
}

static bool turn_is_used(const struct window_turn *t)
{
    return t->is_taken || t->wanted || t->followers;
}

static void turn_sleep_a_grace(struct window_turn *t)
{
    const struct timespec until = clock_after(GRACE_NS);

    pthread_cond_timedwait(&t->idle, &t->lock, &until);
}

/* --- callers ---------------------------------------------------------------------------------- */

static void turn_take(struct window_turn *t)
{
    t->wanted++;
    while (t->is_taken) {
        turn_rouse(t);
        pthread_cond_wait(&t->given, &t->lock);
    }
    t->wanted--;
    t->is_taken = true;
    t->uses++;
    turn_silence(t);
}

void window_turn_take(struct window_turn *t)
{
    pthread_mutex_lock(&t->lock);
    turn_take(t);
    pthread_mutex_unlock(&t->lock);
}

bool window_turn_try(struct window_turn *t)
{
    bool is_free;

    pthread_mutex_lock(&t->lock);
    is_free = (!t->is_taken || t->is_watched) && !t->wanted && !t->followers;
    if (is_free)
        turn_take(t);
    pthread_mutex_unlock(&t->lock);
    return is_free;
}

bool window_turn_lock(struct window_turn *t)
{
    bool is_free;

    pthread_mutex_lock(&t->lock);
    is_free = !turn_is_used(t);
    if (is_free)
        t->uses++;
    else
        pthread_mutex_unlock(&t->lock);
    return is_free;
}

void window_turn_unlock(struct window_turn *t)
{
    pthread_mutex_unlock(&t->lock);
}

void window_turn_give(struct window_turn *t, bool more)
{
    pthread_mutex_lock(&t->lock);
    turn_leave(t);
    t->is_urgent = more;
    if (t->is_parked || more)
        pthread_cond_signal(&t->idle);
    pthread_mutex_unlock(&t->lock);
}

bool window_turn_share(struct window_turn *t, const _Atomic bool *done)
{
    bool has_turn = true;

    pthread_mutex_lock(&t->lock);
    turn_silence(t);
    if (t->wanted) {
        turn_leave(t);
        t->followers++;
        while ((t->is_taken || t->wanted) && !atomic_load(done))
            pthread_cond_wait(&t->given, &t->lock);
        t->followers--;
        has_turn = !t->is_taken && !t->wanted;
        if (has_turn)
            t->is_taken = true;
        else if (t->is_parked)
            pthread_cond_signal(&t->idle);
    } else if (t->followers) {
        pthread_cond_broadcast(&t->given);
    }
    pthread_mutex_unlock(&t->lock);
    return has_turn;
}

/* --- the window's thread ---------------------------------------------------------------------- */

bool window_turn_watch(struct window_turn *t)
{
    uint32_t seen;
    bool ends;

    pthread_mutex_lock(&t->lock);
    seen = t->uses - 1;
    /* Who goes away soon shall not have to wake this thread. */
    while (!t->ends && (turn_is_used(t) || (t->uses != seen && !t->is_urgent))) {
        if (t->uses == seen) {
            t->is_parked = true;
            pthread_cond_wait(&t->idle, &t->lock);
            t->is_parked = false;
            seen = t->uses - 1;
        } else {
            seen = t->uses;
            turn_sleep_a_grace(t);
        }
    }
    ends = t->ends;
    t->is_taken |= !ends;
    t->is_watched = !ends;
    t->is_urgent = false;
    pthread_mutex_unlock(&t->lock);
    return !ends;
}

bool window_turn_keep(struct window_turn *t)
{
    bool keeps;

    pthread_mutex_lock(&t->lock);
    turn_silence(t);
    keeps = !t->wanted && !t->ends;
    if (!keeps) {
        t->is_watched = false;
        turn_leave(t);
    }
    pthread_mutex_unlock(&t->lock);
    return keeps;
}

void window_turn_end(struct window_turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->ends = true;
    turn_rouse(t);
    pthread_cond_signal(&t->idle);
    pthread_mutex_unlock(&t->lock);
}
