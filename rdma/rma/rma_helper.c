/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma_helper.h"

#include "common/clock.h"
#include "common/quiet_thread.h"
#include "rdma/rma/rma_state.h"
#include "rdma/rma/rma_wait.h"

enum { GRACE_NS = 1000 * 1000 };

/* --- the thread ------------------------------------------------------------------------------- */

static void helper_report(struct rma *r)
{
    struct rma_op *op = r->failed;
    struct fault why = r->peers[op->peer].qps.failed;

    r->failed = op->next;
    pthread_mutex_unlock(&r->lock);
    op->on_done(op, &why);
    pthread_mutex_lock(&r->lock);
    r->started--;
    pthread_cond_broadcast(&r->moved);
}

static void helper_wait_a_grace(struct rma *r)
{
    const struct timespec until = clock_after(GRACE_NS);

    pthread_cond_timedwait(&r->needed, &r->lock, &until);
}

static void helper_park(struct rma *r)
{
    r->is_parked = true;
    pthread_cond_wait(&r->needed, &r->lock);
    r->is_parked = false;
}

static void *helper_run(void *arg)
{
    struct rma *r = arg;
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
        } else if (rma_move(r) == 0) {
            rma_sleep(r);
        }
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* --- the others ------------------------------------------------------------------------------- */

bool rma_helper_begin(struct rma *r)
{
    if (r->has_helper)
        return true;
    r->has_helper = quiet_thread_start(&r->helper, 0, helper_run, r) == 0;
    if (r->has_helper)
        pthread_setname_np(r->helper, "mlaunch"); /* as ps -T and debuggers show it */
    return r->has_helper;
}

void rma_helper_end(struct rma *r)
{
    int64_t since_ns = 0;
    struct fault why;

    if (!r->has_helper)
        return;
    fault_set(&why, ML_ERR_STATE, "the window was freed before this was done");
    rma_enter(r);
    if (r->started)
        rma_fail(r, &why);
    while (r->started)
        if (rma_move(r) == 0)
            rma_wait(r, &since_ns);
    r->ends = true;
    pthread_cond_signal(&r->needed);
    rma_leave(r);
    pthread_join(r->helper, NULL);
}

void rma_enter(struct rma *r)
{
    pthread_mutex_lock(&r->lock);
    r->callers++;
}

void rma_leave(struct rma *r)
{
    if (r->started)
        r->uses++;
    if (--r->callers == 0 && r->started && r->is_parked)
        pthread_cond_signal(&r->needed);
    pthread_mutex_unlock(&r->lock);
}
