/* SPDX-License-Identifier: MIT */
#include "runtime/group/matching.h"

#include "runtime/gpu/gpu_buffer.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/message_op.h"
#include "runtime/group/world.h"

#include <stdlib.h>
#include <string.h>

#define EARLY_MOST ((size_t)64 << 20) /* bytes of early messages; mlaunch.h names it */

struct early_message {
    struct message_op t; /* into payload */
    bool is_taken;       /* by a receive, which waits until it is complete */
    size_t counted;      /* bytes of early_bytes */
    struct early_message *next;
    unsigned char payload[];
};

struct listener {
    struct message_op t;
    bool is_queued;
    bool is_left;        /* the message that comes next is left unread, */
    struct message left; /* with this header */
    int named;           /* receives that are not matched, name this rank and wait for it */
    int tried;           /* probes that name it and don't wait */
};

struct matching {
    struct tagged_receive *receives, **receives_end; /* not matched so far */
    struct early_message *early, **early_end;        /* oldest first */
    size_t early_bytes;                              /* others have sent */
    int any;   /* receives from any rank that are not matched */
    int tries; /* probes that don't wait */
    int turn;  /* the rank at which receives from any rank begin to look */
    struct listener listeners[];
};

static struct matching *matching_of(struct group *g)
{
    struct matching *m = g->matching;

    if (m)
        return m;
    m = calloc(1, sizeof(*m) + (size_t)g->size * sizeof(m->listeners[0]));
    if (!m)
        return NULL;
    m->receives_end = &m->receives;
    m->early_end = &m->early;
    g->matching = m;
    return m;
}

static int matching_no_memory(const struct group *g, size_t size, struct fault *why)
{
    return fault_set(why, ML_ERR_MEMORY,
                     "out of memory: rank %d has no %zu bytes for a message with a tag",
                     g->members[g->rank], size);
}

/* --- listeners ---------------------------------------------------------------------------------
 */

static void listener_remove(struct link *l)
{
    struct listener *x = &l->group->matching->listeners[l->peer];
    struct message_op **at = &l->recvs;

    if (!x->is_queued)
        return;
    while (*at != &x->t)
        at = &(*at)->next;
    *at = x->t.next;
    if (!*at)
        l->recvs_end = at;
    x->is_queued = false;
}

static void listener_queue(struct link *l)
{
    struct listener *x = &l->group->matching->listeners[l->peer];

    if (!x->is_queued && !l->recvs) {
        x->t = (struct message_op){.peer = l->peer, .tag = MESSAGE_LISTENER};
        x->t.what = MESSAGE_OP_LISTEN;
        message_op_queue(l->group, &x->t);
        x->is_queued = true;
        x->is_left = false;
    }
    x->t.what = x->named ? MESSAGE_OP_LISTEN : MESSAGE_OP_LISTEN_ANY;
}

/* A message is not for the listener. */
static void listener_leave(struct link *l, const struct message *came)
{
    struct listener *x = &l->group->matching->listeners[l->peer];

    x->is_left = true;
    x->left = *came;
    listener_remove(l);
}

int matching_listen(struct group *g, struct fault *why)
{
    struct matching *m = g->matching;
    int sources = 0;

    if (!m || !m->receives)
        return 0;
    for (struct tagged_receive *r = m->receives; m->tries && r; r = r->next)
        r->has_looked = r->tries;
    for (int i = 0; i < g->size; i++) {
        int peer = (m->turn + i) % g->size;
        struct listener *x = &m->listeners[peer];
        struct link *l = g->links[peer];

        if (peer == g->rank || !(m->any || x->named || x->tried))
            continue;
        if (l->is_over && !x->named) {
            listener_remove(l);
            continue;
        }
        if (l->gone == PEER_DEAD && x->is_left &&
            coord_events_peer(g->world->coord_events, g->members[peer], why))
            return why->code;
        listener_queue(l);
        sources++;
    }
    if (m->any && !sources && g->size > 1)
        return fault_set(why, ML_ERR_PEER,
                         "rank %d receives from any rank, but all others have left",
                         g->members[g->rank]);
    return 0;
}

/* --- receives ----------------------------------------------------------------------------------
 */

static bool receive_fits(const struct tagged_receive *r, int from, int tag)
{
    return (r->from == ML_ANY || r->from == from) && (r->tag == ML_ANY || r->tag == tag);
}

static struct tagged_receive *receive_find(const struct matching *m, int from, int tag)
{
    struct tagged_receive *r = m->receives;

    while (r && !receive_fits(r, from, tag))
        r = r->next;
    return r;
}

/* For the report of a stall. */
static void receive_tell_oldest(struct group *g)
{
    const struct tagged_receive *r = g->matching->receives;

    g->awaited = r ? (struct awaited_tag){true, r->probes, r->from, r->tag}
                   : (struct awaited_tag){.waits = false};
}

static void receive_add(struct group *g, struct tagged_receive *r)
{
    struct matching *m = g->matching;

    for (int i = 0; i < g->size && !m->receives; i++)
        m->listeners[i].is_left = false;
    r->next = NULL;
    *m->receives_end = r;
    m->receives_end = &r->next;
    receive_tell_oldest(g);
    m->tries += r->tries;
    if (r->from == ML_ANY)
        m->any++;
    else if (r->tries)
        m->listeners[r->from].tried++;
    else
        m->listeners[r->from].named++;
}

/* Takes r off the list, and the listeners that no other receive needs off their links. */
static void receive_remove(struct group *g, struct tagged_receive *r)
{
    struct matching *m = g->matching;
    struct tagged_receive **at = &m->receives;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (!*at)
        m->receives_end = at;
    receive_tell_oldest(g);
    m->tries -= r->tries;
    if (r->from == ML_ANY)
        m->any--;
    else if (r->tries)
        m->listeners[r->from].tried--;
    else
        m->listeners[r->from].named--;
    for (int i = 0; i < g->size && !m->any; i++)
        if (!m->listeners[i].named && !m->listeners[i].tried && m->listeners[i].is_queued)
            listener_remove(g->links[i]);
}

/* The message of `t` has come for r. */
static int receive_match(struct group *g, struct tagged_receive *r, const struct message_op *t,
                         struct fault *why)
{
    int tag = (int)(t->tag - 1), from = g->members[t->peer], me = g->members[g->rank];

    r->found = (ml_status){.from = t->peer, .tag = tag, .size = t->size};
    r->is_matched = true;
    r->is_done = r->probes;
    if (!r->probes && t->size > r->size)
        return fault_set(why, ML_ERR_MISMATCH,
                         "rank %d's message of %zu bytes with tag %d is longer than the %zu bytes "
                         "that rank %d can receive",
                         from, t->size, tag, r->size, me);
    if (!r->probes && t->content && r->content && t->content != r->content)
        return message_types_differ(g, t, r->content, why);
    if (!r->probes)
        g->matching->turn = (t->peer + 1) % g->size;
    return 0;
}

/* The message that r has matched comes to host memory: the link reaches no other, or the message is
 * there already. */
static int receive_fetch(const struct group *g, struct tagged_receive *r, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];

    if (!r->gpu || !r->found.size)
        return 0;
    if (gpu_buffer_fetch(r->gpu, why))
        return fault_wrap(why, "%s: recv", group_describe(g, g->rank, who));
    r->buf = r->gpu->bounce.memory;
    return 0;
}

static int receive_begin(struct link *l, struct tagged_receive *r, const struct message_op *t,
                         struct fault *why)
{
    int rc = l->ops->takes_gpu ? 0 : receive_fetch(l->group, r, why);

    r->t = *t;
    r->t.buf = r->buf;
    r->t.gpu = l->ops->takes_gpu && t->size ? r->gpu : NULL;
    return rc;
}

/* --- early messages ----------------------------------------------------------------------------
 */

static struct early_message *early_find(const struct matching *m, const struct tagged_receive *r)
{
    struct early_message *e = m->early;

    while (e && (e->is_taken || !receive_fits(r, e->t.peer, (int)(e->t.tag - 1))))
        e = e->next;
    return e;
}

static bool early_has_room(const struct matching *m, size_t size)
{
    return size <= EARLY_MOST && m->early_bytes + size + sizeof(struct early_message) <= EARLY_MOST;
}

/* Makes room for the message of `t`. What this rank sends itself takes no room from what others
 * send, who could not know of it. NULL: out of memory. */
static struct early_message *early_add(struct matching *m, const struct message_op *t, bool is_own)
{
    struct early_message *e = malloc(sizeof(*e) + t->size);

    if (!e)
        return NULL;
    e->t = *t;
    e->t.buf = e->payload;
    e->is_taken = false;
    e->next = NULL;
    *m->early_end = e;
    m->early_end = &e->next;
    e->counted = is_own ? 0 : sizeof(*e) + t->size;
    m->early_bytes += e->counted;
    return e;
}

static void early_remove(struct matching *m, struct early_message *e)
{
    struct early_message **at = &m->early;

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    if (!*at)
        m->early_end = at;
    m->early_bytes -= e->counted;
    free(e);
}

static int early_refuse(const struct group *g, const struct message_op *t, struct fault *why)
{
    return fault_set(
        why, ML_ERR_MEMORY,
        "rank %d waits for what rank %d has sent after a message of %zu bytes with tag "
        "%d, but can't keep that message: those that it has not received yet would "
        "be more than %zu MiB; receive them in the order in which they are sent",
        g->members[g->rank], g->members[t->peer], t->size, (int)(t->tag - 1), EARLY_MOST >> 20);
}

/* --- messages ----------------------------------------------------------------------------------
 */

/* Puts t before all receives of the link: its message is the next one. */
static void matching_put_first(struct link *l, struct message_op *t)
{
    t->next = l->recvs;
    l->recvs = t;
}

/* As matching_accept, for a message with a tag. */
static int matching_divert(struct link *l, const struct message *came, struct fault *why)
{
    struct group *g = l->group;
    struct matching *m = matching_of(g);
    struct message_op t = {.what = MESSAGE_OP_RECV,
                           .peer = l->peer,
                           .size = came->size,
                           .content = came->type,
                           .tag = (uint32_t)came->root + 1};
    bool listens = message_op_listens(l->recvs);
    struct tagged_receive *r;
    struct early_message *e;
    int rc;

    if (!m)
        return matching_no_memory(g, t.size, why);
    r = receive_find(m, l->peer, came->root);
    if (r) {
        rc = receive_match(g, r, &t, why);
        receive_remove(g, r);
        if (rc)
            return rc;
        if (!r->probes) {
            rc = receive_begin(l, r, &t, why);
            if (rc)
                return rc;
            matching_put_first(l, &r->t);
            return 1;
        }
    }
    if (listens && (r || !early_has_room(m, t.size))) {
        listener_leave(l, came);
        return 0;
    }
    if (!early_has_room(m, t.size))
        return early_refuse(g, &t, why);
    e = early_add(m, &t, false);
    if (!e)
        return matching_no_memory(g, t.size, why);
    matching_put_first(l, &e->t);
    return 1;
}

int matching_find(struct link *l, const struct message *came, struct fault *why)
{
    struct group *g = l->group;

    for (;;) {
        const struct message_op *t = l->recvs;
        int rc;

        if (message_is_wanted(g, came, t)) /* it was behind a listener */
            return 1;
        if (message_has_tag(came))
            return matching_divert(l, came, why);
        if (!message_op_listens(t)) {
            rc = message_check(g, came, t, why);
            return rc ? rc : 1;
        }
        /* The peer is in a collective call, which it had to begin after its messages. */
        if (t->what == MESSAGE_OP_LISTEN && came->kind != CALL_SEND)
            return message_check(g, came, t, why);
        listener_leave(l, came);
        if (!l->recvs)
            return 0;
    }
}

int matching_post(struct group *g, struct tagged_receive *r, struct fault *why)
{
    struct matching *m = matching_of(g);
    int rc;

    if (!m)
        return matching_no_memory(g, 0, why);
    r->early = early_find(m, r);
    if (!r->early) {
        receive_add(g, r);
        return 0;
    }
    rc = receive_match(g, r, &r->early->t, why);
    if (!rc && !r->probes)
        rc = receive_fetch(g, r, why);
    r->early->is_taken = !rc && !r->probes;
    return rc;
}

bool matching_is_done(struct group *g, struct tagged_receive *r)
{
    if (!r->is_matched && r->has_looked) {
        matching_withdraw(g, r);
        r->is_done = true;
    }
    if (r->is_done || !r->is_matched)
        return r->is_done;
    if (!r->early)
        return r->is_done = r->t.done;
    if (!r->early->t.done) {
        message_op_activate(g->links[r->found.from]);
        return false;
    }
    if (r->found.size)
        memcpy(r->buf, r->early->payload, r->found.size);
    early_remove(g->matching, r->early);
    return r->is_done = true;
}

int matching_check(const struct group *g, const struct tagged_receive *r, struct fault *why)
{
    const struct listener *x;
    struct message_op t;

    if (r->is_matched || r->tries || (r->from == ML_ANY && g->size > 1))
        return 0;
    if (r->from == g->rank || r->from == ML_ANY)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "rank %d receives from itself, but has sent itself nothing that fits",
                         g->rank);
    x = &g->matching->listeners[r->from];
    if (!x->is_left)
        return 0;
    if (!message_has_tag(&x->left))
        return message_check(g, &x->left, &x->t, why);
    t = (struct message_op){
        .peer = r->from, .size = x->left.size, .tag = (uint32_t)x->left.root + 1};
    return early_refuse(g, &t, why);
}

int matching_send_self(struct group *g, const struct message_op *t, struct fault *why)
{
    struct matching *m = matching_of(g);
    struct tagged_receive *r = m ? receive_find(m, g->rank, (int)(t->tag - 1)) : NULL;
    struct early_message *e;
    int rc;

    if (r) {
        rc = receive_match(g, r, t, why);
        receive_remove(g, r);
        if (!rc && !r->probes)
            rc = receive_fetch(g, r, why);
        if (!rc && !r->probes && t->size)
            memmove(r->buf, t->buf, t->size);
        r->is_done = !rc;
        if (rc || !r->probes)
            return rc;
    }
    e = m ? early_add(m, t, true) : NULL;
    if (!e)
        return matching_no_memory(g, t->size, why);
    if (t->size)
        memcpy(e->payload, t->buf, t->size);
    e->t.done = true;
    return 0;
}

/* --- the end -----------------------------------------------------------------------------------
 */

void matching_withdraw(struct group *g, struct tagged_receive *r)
{
    for (struct tagged_receive *it = g->matching->receives; it; it = it->next)
        if (it == r) {
            receive_remove(g, r);
            return;
        }
}

void matching_drop(struct group *g)
{
    struct matching *m = g->matching;

    if (!m)
        return;
    m->receives = NULL;
    m->receives_end = &m->receives;
    receive_tell_oldest(g);
    m->any = m->tries = 0;
    for (int i = 0; i < g->size; i++)
        m->listeners[i] = (struct listener){0};
}

void matching_close(struct group *g)
{
    if (!g->matching)
        return;
    while (g->matching->early)
        early_remove(g->matching, g->matching->early);
    free(g->matching);
    g->matching = NULL;
}
