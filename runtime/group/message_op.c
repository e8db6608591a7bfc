/* SPDX-License-Identifier: MIT */
#include "runtime/group/message_op.h"

#include "common/clock.h"
#include "runtime/group/group.h"
#include "runtime/group/wait.h"

void message_op_activate(struct link *l)
{
    if (l->active)
        return;
    l->active = true;
    l->group->active[l->group->active_count++] = l;
}

void message_op_queue(struct group *g, struct message_op *t)
{
    struct link *l = g->links[t->peer];

    t->moved = 0;
    t->header_moved = false;
    t->done = false;
    t->next = NULL;
    if (t->what == MESSAGE_OP_SEND) {
        *l->sends_end = t;
        l->sends_end = &t->next;
    } else {
        *l->recvs_end = t;
        l->recvs_end = &t->next;
    }
    message_op_activate(l);
}

/* > 0 if anything moved, 0 if not, ML_ERR_*. */
static int message_op_progress(struct group *g, struct fault *why)
{
    int moved = 0;

    for (int i = 0; i < g->active_count;) {
        struct link *l = g->active[i];
        int rc = l->ops->progress(l, why);

        if (rc < 0)
            return rc;
        if (rc > 0 && __builtin_expect(l->gone != PEER_PRESENT, 0))
            l->gone_at = clock_ms();
        moved |= rc;
        if (l->sends || l->recvs) {
            i++;
        } else {
            l->active = false;
            g->active[i] = g->active[--g->active_count];
        }
    }
    return moved;
}

void message_op_drop(struct group *g)
{
    for (int i = 0; i < g->active_count; i++) {
        struct link *l = g->active[i];

        if (l->ops->cancel)
            l->ops->cancel(l);
        l->sends = l->recvs = NULL;
        l->sends_end = &l->sends;
        l->recvs_end = &l->recvs;
        l->active = false;
    }
    g->active_count = 0;
}

static int message_op_cancel(struct group *g, int code)
{
    message_op_drop(g);
    return code;
}

int message_op_start(struct group *g, struct message_op *t, int n, struct fault *why)
{
    int rc;

    for (int i = 0; i < n; i++)
        message_op_queue(g, &t[i]);
    rc = message_op_progress(g, why);
    return rc < 0 ? message_op_cancel(g, rc) : 0;
}

int message_op_step(struct group *g, struct waiting *w, struct fault *why)
{
    int rc = message_op_progress(g, why);

    if (rc > 0)
        wait_moved(g, w);
    else if (rc == 0)
        rc = wait_step(g, w, why);
    return rc < 0 ? message_op_cancel(g, rc) : rc;
}

int message_op_wait(struct group *g, struct message_op *t, int n, struct fault *why)
{
    struct waiting w = {0};
    int first = 0; /* all before it are done */

    for (;;) {
        int rc;

        while (first < n && t[first].done)
            first++;
        if (first == n)
            return 0;
        rc = message_op_progress(g, why);
        if (rc > 0)
            wait_moved(g, &w);
        else if (rc == 0)
            rc = wait_step(g, &w, why);
        if (rc < 0)
            return message_op_cancel(g, rc);
    }
}

int message_op_run(struct group *g, struct message_op *t, int n, struct fault *why)
{
    for (int i = 0; i < n; i++)
        message_op_queue(g, &t[i]);
    return message_op_wait(g, t, n, why);
}
