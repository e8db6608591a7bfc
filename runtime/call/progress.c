/* SPDX-License-Identifier: MIT */
#include "runtime/call/progress.h"

#include "common/quiet_thread.h"
#include "runtime/call/call.h"
#include "runtime/call/call_record.h"
#include "runtime/call/task_hash.h"
#include "runtime/call/task_run.h"
#include "runtime/call/task_stage.h"
#include "runtime/group/message_op.h"
#include "runtime/group/wait.h"
#include "runtime/process/bell.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Requests in the order in which they were added. */
struct request_list {
    struct request *first, **end;
};

struct progress {
    struct group *group;
    pthread_t thread;
    int waker[2]; /* a pipe that ends the poll() in which the thread sleeps during messages */

    pthread_mutex_t lock;      /* guards everything down to `ends` */
    pthread_cond_t more;       /* the thread waits for it while nothing is under way */
    pthread_cond_t done;       /* the other threads wait for it: something is done */
    struct request_list queue; /* started; the thread has not taken them yet */
    int waiters;               /* threads that wait for what is under way */
    bool may_sleep;            /* the thread is in poll(), or about to be: ring the waker */
    bool has_rung;             /* the waker was rung and is still readable */
    bool ends;
    /* The group, and each request until it is freed: another thread may be about to wait for one
     * while ml_repair ends the group. */
    _Atomic int users;

    struct request_list in_flight; /* messages; only the thread uses it */
};

static void request_list_clear(struct request_list *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static void request_list_add(struct request_list *l, struct request *r)
{
    r->next = NULL;
    *l->end = r;
    l->end = &r->next;
}

static struct request *request_list_take(struct request_list *l)
{
    struct request *r = l->first;

    l->first = r->next;
    if (!l->first)
        l->end = &l->first;
    return r;
}

/* --- the thread --------------------------------------------------------------------------------
 */

/* Marks the requests of `l` as done, with `result` (NULL: each keeps its own). After this the group
 * may belong to another thread, and the requests may be gone. */
static void progress_complete(struct progress *p, struct request_list *l,
                              const struct fault *result)
{
    if (!l->first)
        return;
    pthread_mutex_lock(&p->lock);
    while (l->first) {
        struct request *r = request_list_take(l);

        if (result)
            r->result = *result;
        atomic_fetch_sub_explicit(&p->group->under_way, 1, memory_order_release);
        atomic_store_explicit(&r->is_done, true, memory_order_release);
    }
    pthread_cond_broadcast(&p->done);
    pthread_mutex_unlock(&p->lock);
}

static void progress_collective(struct progress *p, struct request *r)
{
    struct request_list one;
    struct fault why = {0};
    int rc = task_run(p->group, &r->task, &why);

    if (r->task.stage)
        rc = task_stage_close(r->task.stage, p->group, &r->task, rc, &why);
    request_list_clear(&one);
    request_list_add(&one, r);
    progress_complete(p, &one, rc ? &why : NULL);
}

/* Takes the next message from the queue. NULL: there is none, or a collective call comes first; the
 * thread may sleep, because the waker will be rung. */
static struct request *progress_next_message(struct progress *p)
{
    struct request *r = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->has_rung)
        bell_silence(p->waker[0]);
    p->has_rung = false;
    if (p->queue.first && p->queue.first->task.kind == CALL_SEND)
        r = request_list_take(&p->queue);
    p->may_sleep = !r;
    p->group->waiting.is_patient = !p->waiters;
    pthread_mutex_unlock(&p->lock);
    return r;
}

static int progress_start_message(struct progress *p, struct request *r, struct fault *why)
{
    int rc = call_begin(p->group, CALL_SEND, r->task.name, 0, 0, 0, -1, why);

    p->group->words.site = r->task.site;
    r->recorded = p->group->records.now;
    p->group->records.now = (struct recorded){0};
    task_record(r->recorded, p->group, &r->task);
    if (task_hash_is_wanted(p->group))
        r->hash_read = task_hash_read(p->group, &r->task);
    request_list_add(&p->in_flight, r);
    if (rc)
        return rc;
    if (task_receives_tag(&r->task))
        return matching_post(p->group, &r->receive, why);
    if (r->task.tagged && r->task.to == p->group->rank) {
        r->op_count = 0;
        return matching_send_self(p->group, &r->ops[0], why);
    }
    return message_op_start(p->group, r->ops, r->op_count, why);
}

static bool request_is_finished(struct request *r)
{
    if (task_receives_tag(&r->task) && !matching_is_done(r->group, &r->receive))
        return false;
    for (int i = 0; i < r->op_count; i++)
        if (!r->ops[i].done)
            return false;
    return true;
}

/* Moves the requests that are finished from `in_flight` to `finished`. */
static void progress_take_finished(struct progress *p, struct request_list *finished)
{
    struct request_list still;

    request_list_clear(&still);
    while (p->in_flight.first) {
        struct request *r = request_list_take(&p->in_flight);
        bool is_finished = request_is_finished(r);

        if (is_finished && r->task.tagged) {
            task_record_found(r->recorded, p->group, &r->receive);
            task_report(&r->task, &r->receive);
        }
        if (is_finished && task_hash_is_wanted(p->group))
            task_hash_note(r->recorded, p->group, &r->task, r->hash_read);
        if (is_finished && r->task.stage)
            task_stage_close(r->task.stage, p->group, &r->task, 0, &r->result);
        if (is_finished)
            call_record_end(r->recorded, p->group, r->result.code);
        request_list_add(is_finished ? finished : &still, r);
    }
    request_list_clear(&p->in_flight);
    while (still.first)
        request_list_add(&p->in_flight, request_list_take(&still));
}

/* Carries out one message and all that follow it in the queue, until none is in flight. */
static void progress_messages(struct progress *p, struct request *r)
{
    struct group *g = p->group;
    struct waiting w = {0};
    struct request_list finished;
    struct fault why = {0};
    int rc = 0;

    request_list_clear(&finished);
    g->waiting.waker = p->waker[0];
    for (;;) {
        for (; r; r = rc < 0 ? NULL : progress_next_message(p))
            rc = progress_start_message(p, r, &why);
        progress_take_finished(p, &finished);
        if (rc < 0 || !p->in_flight.first)
            break;
        progress_complete(p, &finished, NULL);
        rc = matching_listen(g, &why);
        if (!rc)
            rc = message_op_step(g, &w, &why);
        if (rc >= 0)
            r = progress_next_message(p);
    }
    g->waiting.waker = -1;
    g->waiting.is_patient = false;
    if (rc < 0) {
        message_op_drop(g);
        matching_drop(g);
    }
    for (r = p->in_flight.first; r; r = r->next)
        call_record_end(r->recorded, g, rc);
    call_end(g, rc < 0 ? rc : 0, &why);
    progress_complete(p, &finished, NULL);
    progress_complete(p, &p->in_flight, &why);
}

/* Waits for the next request. NULL: the thread is to end. */
static struct request *progress_next(struct progress *p)
{
    struct request *r = NULL;

    pthread_mutex_lock(&p->lock);
    p->may_sleep = false;
    while (!p->queue.first && !p->ends)
        pthread_cond_wait(&p->more, &p->lock);
    if (p->queue.first)
        r = request_list_take(&p->queue);
    pthread_mutex_unlock(&p->lock);
    return r;
}

static void *progress_main(void *arg)
{
    struct progress *p = arg;
    struct request *r;

    while ((r = progress_next(p))) {
        if (r->task.kind == CALL_SEND)
            progress_messages(p, r);
        else
            progress_collective(p, r);
    }
    return NULL;
}

/* --- its beginning and end ---------------------------------------------------------------------
 */

static void waker_close(struct progress *p)
{
    fork_guard_close(p->waker[0]);
    fork_guard_close(p->waker[1]);
}

static void progress_release(struct progress *p)
{
    if (atomic_fetch_sub_explicit(&p->users, 1, memory_order_acq_rel) > 1)
        return;
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static int progress_start_thread(struct progress *p)
{
    int err = quiet_thread_start(&p->thread, 0, progress_main, p);

    if (!err)
        pthread_setname_np(p->thread, "mlaunch"); /* as ps -T and debuggers show it */
    return err;
}

static int progress_make_waker(int waker[2])
{
    int held[STDIO_GUARD], rc;

    stdio_guard_begin(held);
    rc = pipe2(waker, O_CLOEXEC | O_NONBLOCK);
    stdio_guard_end(held);
    if (rc != 0)
        return errno;
    fork_guard_add(waker[0]);
    fork_guard_add(waker[1]);
    return 0;
}

static int progress_create(struct group *g, struct fault *why)
{
    struct progress *p = calloc(1, sizeof(*p));
    int err;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    err = progress_make_waker(p->waker);
    if (err) {
        free(p);
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot make a pipe for started calls");
    }
    p->group = g;
    atomic_init(&p->users, 1);
    request_list_clear(&p->queue);
    request_list_clear(&p->in_flight);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    pthread_cond_init(&p->done, NULL);
    err = progress_start_thread(p);
    if (err) {
        waker_close(p);
        progress_release(p);
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot start a thread for started calls");
    }
    g->progress = p;
    return 0;
}

void progress_stop(struct group *g)
{
    struct progress *p = g->progress;

    if (!p)
        return;
    progress_settle(g);
    pthread_mutex_lock(&p->lock);
    while (p->waiters) /* threads in ml_wait, whose requests are done by now */
        pthread_cond_wait(&p->done, &p->lock);
    p->ends = true;
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    waker_close(p);
    g->progress = NULL;
    progress_release(p);
}

/* --- the other threads -------------------------------------------------------------------------
 */

/* Wakes the thread, wherever it waits, because something has changed. Under the lock. */
static void progress_rouse(struct progress *p)
{
    if (p->may_sleep && !p->has_rung) {
        bell_ring(p->waker[1]);
        p->has_rung = true;
    }
    pthread_cond_signal(&p->more);
}

int progress_add(struct request *r, struct fault *why)
{
    struct group *g = r->group;
    int rc = g->progress ? 0 : progress_create(g, why);

    if (rc)
        return rc;
    r->held = g->progress;
    atomic_fetch_add_explicit(&r->held->users, 1, memory_order_relaxed);
    pthread_mutex_lock(&g->progress->lock);
    request_list_add(&g->progress->queue, r);
    atomic_fetch_add_explicit(&g->under_way, 1, memory_order_relaxed);
    progress_rouse(g->progress);
    pthread_mutex_unlock(&g->progress->lock);
    return 0;
}

void progress_let_go(struct request *r)
{
    if (r->held)
        progress_release(r->held);
    r->held = NULL;
}

void progress_await(struct request *r)
{
    struct progress *p = r->held;

    pthread_mutex_lock(&p->lock);
    p->waiters++;
    progress_rouse(p);
    while (!atomic_load_explicit(&r->is_done, memory_order_relaxed))
        pthread_cond_wait(&p->done, &p->lock);
    if (--p->waiters == 0)
        pthread_cond_broadcast(&p->done);
    pthread_mutex_unlock(&p->lock);
}

void progress_settle(struct group *g)
{
    struct progress *p = g->progress;

    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->waiters++;
    progress_rouse(p);
    while (group_is_busy(g))
        pthread_cond_wait(&p->done, &p->lock);
    p->waiters--;
    pthread_mutex_unlock(&p->lock);
}
