/* SPDX-License-Identifier: MIT */
#include "rdma/rma/reach_helper.h"

#include "common/clock.h"
#include "common/quiet_thread.h"
#include "rdma/rma/reach_state.h"
#include "rdma/rma/reach_wait.h"

enum { GRACE_NS = 1000 * 1000 };

/* --- the thread ------------------------------------------------------------------------------- */

static void helper_report(struct reach *r)
{
    struct work *w = r->failed;
    struct fault why = r->peers[w->peer].tracks.failed;

    r->failed = w->next;
    pthread_mutex_unlock(&r->lock);
    w->on_done(w, &why);
    pthread_mutex_lock(&r->lock);
    r->started--;
    pthread_cond_broadcast(&r->moved);
}

static void helper_wait_a_grace(struct reach *r)
{
    const struct timespec until = clock_after(GRACE_NS);

    pthread_cond_timedwait(&r->needed, &r->lock, &until);
}

static void helper_park(struct reach *r)
{
    r->is_parked = true;
    pthread_cond_wait(&r->needed, &r->lock);
    r->is_parked = false;
}

static void *helper_run(void *arg)
{
    struct reach *r = arg;
    unsigned seen = 0;

    pthread_mutex_lock(&r->lock);
    while (!r->ends) {
        if (r->failed) {
            helper_report(r);
        } else if (r->uses != seen) {
            seen = r->uses;
            helper_wait_a_grace(r);
        } else if (!r->started || r->callers) {
            helper_park(r);
        } else if (reach_move(r) == 0) {
            reach_sleep(r);
        }
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* --- the others ------------------------------------------------------------------------------- */

bool reach_helper_begin(struct reach *r)
{
    if (r->has_helper)
        return true;
    r->has_helper = quiet_thread_start(&r->helper, 0, helper_run, r) == 0;
    if (r->has_helper)
        pthread_setname_np(r->helper, "mlaunch"); /* as ps -T and debuggers show it */
    return r->has_helper;
}

void reach_helper_end(struct reach *r)
{
    int64_t since_ns = 0;
    struct fault why;

    if (!r->has_helper)
        return;
    fault_set(&why, ML_ERR_STATE, "the window was freed before this was done");
    reach_enter(r);
    if (r->started)
        reach_fail(r, &why);
    while (r->started)
        if (reach_move(r) == 0)
            reach_wait(r, &since_ns);
    r->ends = true;
    pthread_cond_signal(&r->needed);
    reach_leave(r);
    pthread_join(r->helper, NULL);
}

void reach_enter(struct reach *r)
{
    pthread_mutex_lock(&r->lock);
    r->callers++;
}

void reach_leave(struct reach *r)
{
    if (r->started)
        r->uses++;
    if (--r->callers == 0 && r->started && r->is_parked)
        pthread_cond_signal(&r->needed);
    pthread_mutex_unlock(&r->lock);
}
