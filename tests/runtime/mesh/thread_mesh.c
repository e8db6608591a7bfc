/* SPDX-License-Identifier: MIT */
#include "tests/runtime/mesh/thread_mesh.h"

#include "runtime/collective/collectives.h"
#include "runtime/group/message_op.h"
#include "runtime/group/sleeper.h"
#include "runtime/group/wait.h"
#include "runtime/kernel/combiner.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/steps/hierarchy.h"
#include "runtime/transport/shm_coll.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- the mesh: transfer_* of runtime/group/message_op.h ---- */

struct letter {
    struct message_op *t;
    struct call call;
    struct letter *next;
};
struct queue {
    struct letter *first, **end;
};
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct queue sends[MESH_RANKS][MESH_RANKS], recvs[MESH_RANKS][MESH_RANKS]; /* [from][to] */
    bool has_met[MESH_RANKS][MESH_RANKS];                                      /* [rank][peer] */
} mesh = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static _Thread_local struct fault thread_fault;

static void queue_add(struct queue *q, struct message_op *t, const struct call *c)
{
    struct letter *l = calloc(1, sizeof(*l));

    if (!l)
        abort();
    l->t = t;
    l->call = *c;
    if (!q->first)
        q->end = &q->first;
    *q->end = l;
    q->end = &l->next;
}

static void queue_remove(struct queue *q)
{
    struct letter *l = q->first;

    q->first = l->next;
    if (!q->first)
        q->end = &q->first;
    l->t->done = true;
    free(l);
}

static void deliver(const struct message_op *from, struct message_op *to, const struct call *c)
{
    if (to->what == MESSAGE_OP_RECV) {
        if (from->size)
            memcpy(to->buf, from->buf, from->size);
    } else if (c->combiner) {
        combiner_run(c->combiner, to->buf, to->incoming_first ? from->buf : to->with,
                     to->incoming_first ? to->with : from->buf, to->size);
    } else if (to->incoming_first) {
        reduce_op(c->type, c->op)(to->buf, from->buf, to->with,
                                  to->size / reduce_type_size(c->type));
    } else {
        reduce_op(c->type, c->op)(to->buf, to->with, from->buf,
                                  to->size / reduce_type_size(c->type));
    }
}

static bool fits(const struct letter *sent, const struct letter *wanted)
{
    const struct call *a = &sent->call, *b = &wanted->call;

    return sent->t->size == wanted->t->size && a->count == b->count && a->seq == b->seq &&
           a->kind == b->kind && a->type == b->type && a->op == b->op && a->root == b->root;
}

/* Moves the messages that have arrived for `rank`, taking peers in an order that changes. Returns <
 * 0 for a mismatch. */
static int mesh_move(struct group *g, bool *moved)
{
    static unsigned turn;
    int start = (int)(turn++ % (unsigned)g->size);

    for (int i = 0; i < g->size; i++) {
        int from = (start + i) % g->size;
        struct queue *s = &mesh.sends[from][g->rank], *r = &mesh.recvs[from][g->rank];

        while (s->first && r->first) {
            if (!fits(s->first, r->first))
                return ML_ERR_MISMATCH;
            deliver(s->first->t, r->first->t, &r->first->call);
            queue_remove(s);
            queue_remove(r);
            *moved = true;
        }
    }
    return 0;
}

int message_op_start(struct group *g, struct message_op *t, int n, struct fault *why)
{
    (void)why;
    pthread_mutex_lock(&mesh.lock);
    for (int i = 0; i < n; i++) {
        t[i].done = false;
        mesh.has_met[g->rank][t[i].peer] = true;
        if (t[i].what == MESSAGE_OP_SEND)
            queue_add(&mesh.sends[g->rank][t[i].peer], &t[i], &g->call);
        else
            queue_add(&mesh.recvs[t[i].peer][g->rank], &t[i], &g->call);
    }
    pthread_cond_broadcast(&mesh.moved);
    pthread_mutex_unlock(&mesh.lock);
    return 0;
}

static bool all_done(const struct message_op *t, int n)
{
    for (int i = 0; i < n; i++)
        if (!t[i].done)
            return false;
    return true;
}

int message_op_wait(struct group *g, struct message_op *t, int n, struct fault *why)
{
    int rc = 0;

    pthread_mutex_lock(&mesh.lock);
    while (!rc && !all_done(t, n)) {
        bool moved = false;

        rc = mesh_move(g, &moved);
        if (moved)
            pthread_cond_broadcast(&mesh.moved);
        else if (!rc)
            pthread_cond_wait(&mesh.moved, &mesh.lock);
    }
    pthread_mutex_unlock(&mesh.lock);
    return rc ? fault_set(why, rc, "%s: the calls don't match", g->words.name) : 0;
}

int message_op_run(struct group *g, struct message_op *t, int n, struct fault *why)
{
    int rc = message_op_start(g, t, n, why);

    return rc ? rc : message_op_wait(g, t, n, why);
}

/* ---- the board: what shm_coll.c needs of the library ---- */

enum { CELL = 4096 /* so that vectors take many turns */ };

void sleeper_ring(struct sleeper_slot *slot, struct group *g, int rank)
{
    (void)slot, (void)g, (void)rank;
    abort(); /* no thread sleeps */
}

bool wait_spin(struct group *g, struct waiting *w)
{
    (void)g, (void)w;
    sched_yield();
    return true;
}

int wait_step(struct group *g, struct waiting *w, struct fault *why)
{
    (void)g, (void)w, (void)why;
    abort(); /* wait_spin never gives up */
}

void wait_moved(struct group *g, struct waiting *w)
{
    (void)g, (void)w;
}

/* Makes a board in memory that the threads share, if MLAUNCH_ALGO needs one. */
static void *coll_make(struct shm_coll *b, int ranks)
{
    const char *algorithms = getenv("MLAUNCH_ALGO");
    size_t lines = SHM_COLL_LINES * sizeof(struct shm_coll_line),
           each = lines + SHM_COLL_CELLS * CELL;
    size_t all = (size_t)ranks * each;
    unsigned char *memory;

    if (ranks < 2 || !algorithms || !strstr(algorithms, "shared"))
        return NULL;
    memory = aligned_alloc(PROCESSOR_LINE, all);
    if (!memory)
        abort();
    memset(memory, 0, all);
    *b = (struct shm_coll){
        .lines = memory, .cells = memory + lines, .stride = each, .cell_size = CELL};
    return memory;
}

/* Spreads the ranks over hosts, if MLAUNCH_ALGO needs that: two a host in blocks, or three a host
 * in turn, or unequally many ranks on two hosts or three. */
static void hosts_make(struct group *g, int *host_of)
{
    const char *algorithms = getenv("MLAUNCH_ALGO");
    bool is_even = algorithms && strstr(algorithms, "hierarchical");

    if (!is_even && (!algorithms || !strstr(algorithms, "leaders")))
        return;
    for (int i = 0; i < g->size; i++)
        if (is_even)
            host_of[i] = g->size % 3 == 0 ? i % (g->size / 3) : i / 2;
        else
            host_of[i] = i % 4 == 1 ? 5 : i % 5 == 3 ? 0 : 2;
    g->host_of = host_of;
    if (hierarchy_find(&g->hierarchy, g, &thread_fault) || !g->hierarchy)
        abort();
}

/* ---- the calls, as task.c makes them ---- */

static struct group *begin(ml_group *group, enum call_kind kind, const char *name, uint64_t count,
                           int type, int op, int root)
{
    struct group *g = (struct group *)group;

    g->call = (struct call){.count = count,
                            .seq = ++g->calls,
                            .kind = (uint8_t)kind,
                            .type = (uint8_t)type,
                            .op = (uint8_t)op,
                            .root = root};
    g->words.name = name;
    g->words.algorithm = NULL;
    return g;
}

static int do_all_reduce(ml_group *group, const void *in, void *out, size_t n, ml_type t, ml_op o)
{
    struct group *g = begin(group, CALL_ALL_REDUCE, "all_reduce", n, (int)t, (int)o, -1);

    return all_reduce_run(g, in, out, n * reduce_type_size((int)t), &thread_fault);
}

static int do_reduce_scatter(ml_group *group, const void *in, void *out, size_t n, ml_type t,
                             ml_op o)
{
    struct group *g = begin(group, CALL_REDUCE_SCATTER, "reduce_scatter", n, (int)t, (int)o, -1);

    return reduce_scatter_run(g, in, out, n * reduce_type_size((int)t), &thread_fault);
}

static int do_reduce(ml_group *group, const void *in, void *out, size_t n, ml_type t, ml_op o,
                     int root)
{
    struct group *g = begin(group, CALL_REDUCE, "reduce", n, (int)t, (int)o, root);

    return reduce_run(g, in, out, n * reduce_type_size((int)t), root, &thread_fault);
}

static int do_scan(ml_group *group, const void *in, void *out, size_t n, ml_type t, ml_op o)
{
    struct group *g = begin(group, CALL_SCAN, "scan", n, (int)t, (int)o, -1);

    return scan_run(g, in, out, n * reduce_type_size((int)t), &thread_fault);
}

static int do_exclusive_scan(ml_group *group, const void *in, void *out, size_t n, ml_type t,
                             ml_op o)
{
    struct group *g = begin(group, CALL_EXCLUSIVE_SCAN, "exclusive_scan", n, (int)t, (int)o, -1);

    return exclusive_scan_run(g, in, out, n * reduce_type_size((int)t), &thread_fault);
}

static int operate(ml_group *group, enum call_kind kind, const void *in, void *out, size_t n,
                   const ml_operator *with, int root)
{
    struct group *g = begin(group, kind, "operate", n, CALL_OPERATOR, 0, root);
    size_t size = n * with->size;
    int rc;

    g->call.combiner = combiner_create(with, g->size);
    if (!g->call.combiner)
        abort();
    if (kind == CALL_ALL_REDUCE)
        rc = all_reduce_run(g, in, out, size, &thread_fault);
    else if (kind == CALL_REDUCE_SCATTER)
        rc = reduce_scatter_run(g, in, out, size, &thread_fault);
    else if (kind == CALL_REDUCE)
        rc = reduce_run(g, in, out, size, root, &thread_fault);
    else if (kind == CALL_SCAN)
        rc = scan_run(g, in, out, size, &thread_fault);
    else
        rc = exclusive_scan_run(g, in, out, size, &thread_fault);
    combiner_destroy(g->call.combiner);
    return rc;
}

static int do_all_reduce_with(ml_group *group, const void *in, void *out, size_t n,
                              const ml_operator *with)
{
    return operate(group, CALL_ALL_REDUCE, in, out, n, with, -1);
}

static int do_reduce_scatter_with(ml_group *group, const void *in, void *out, size_t n,
                                  const ml_operator *with)
{
    return operate(group, CALL_REDUCE_SCATTER, in, out, n, with, -1);
}

static int do_reduce_with(ml_group *group, const void *in, void *out, size_t n,
                          const ml_operator *with, int root)
{
    return operate(group, CALL_REDUCE, in, out, n, with, root);
}

static int do_scan_with(ml_group *group, const void *in, void *out, size_t n,
                        const ml_operator *with)
{
    return operate(group, CALL_SCAN, in, out, n, with, -1);
}

static int do_exclusive_scan_with(ml_group *group, const void *in, void *out, size_t n,
                                  const ml_operator *with)
{
    return operate(group, CALL_EXCLUSIVE_SCAN, in, out, n, with, -1);
}

static int do_all_gather(ml_group *group, const void *in, void *out, size_t n)
{
    struct group *g = begin(group, CALL_ALL_GATHER, "all_gather", n, 0, 0, -1);

    return all_gather_run(g, in, out, n, &thread_fault);
}

static int do_all_to_all(ml_group *group, const void *in, void *out, size_t n)
{
    struct group *g = begin(group, CALL_ALL_TO_ALL, "all_to_all", n, 0, 0, -1);

    return all_to_all_run(g, in, out, n, &thread_fault);
}

static int do_all_gather_v(ml_group *group, const void *in, void *out, const size_t *sizes,
                           const size_t *offsets)
{
    struct group *g = begin(group, CALL_ALL_GATHER_V, "all_gather_v", 0, 0, 0, -1);

    return all_gather_v_run(g, in, out, sizes, offsets, &thread_fault);
}

static int do_all_to_all_v(ml_group *group, const void *in, const size_t *in_sizes,
                           const size_t *in_offsets, void *out, const size_t *out_sizes,
                           const size_t *out_offsets)
{
    struct group *g = begin(group, CALL_ALL_TO_ALL_V, "all_to_all_v", 0, 0, 0, -1);

    return all_to_all_v_run(g, in, in_sizes, in_offsets, out, out_sizes, out_offsets,
                            &thread_fault);
}

static int do_broadcast(ml_group *group, void *buf, size_t n, int root)
{
    struct group *g = begin(group, CALL_BROADCAST, "broadcast", n, 0, 0, root);

    return broadcast_run(g, buf, n, root, &thread_fault);
}

static int do_gather(ml_group *group, const void *in, void *out, size_t n, int root)
{
    struct group *g = begin(group, CALL_GATHER, "gather", n, 0, 0, root);

    return gather_run(g, in, out, n, root, &thread_fault);
}

static int do_scatter(ml_group *group, const void *in, void *out, size_t n, int root)
{
    struct group *g = begin(group, CALL_SCATTER, "scatter", n, 0, 0, root);

    return scatter_run(g, in, out, n, root, &thread_fault);
}

static int do_barrier(ml_group *group)
{
    return barrier_run(begin(group, CALL_BARRIER, "barrier", 0, 0, 0, -1), &thread_fault);
}

static const char *do_error(void)
{
    return thread_fault.text;
}

/* ---- running ---- */

struct rank {
    struct shm_coll coll;
    pthread_t thread;
    struct group group;
    int host_of[MESH_RANKS];
    void (*body)(const struct subject *s, int *failures);
    int failures;
};

static void *rank_main(void *arg)
{
    struct rank *r = arg;
    struct subject s = {.group = (ml_group *)&r->group,
                        .rank = r->group.rank,
                        .size = r->group.size,
                        .all_reduce = do_all_reduce,
                        .reduce_scatter = do_reduce_scatter,
                        .reduce = do_reduce,
                        .scan = do_scan,
                        .exclusive_scan = do_exclusive_scan,
                        .all_reduce_with = do_all_reduce_with,
                        .reduce_scatter_with = do_reduce_scatter_with,
                        .reduce_with = do_reduce_with,
                        .scan_with = do_scan_with,
                        .exclusive_scan_with = do_exclusive_scan_with,
                        .all_gather = do_all_gather,
                        .all_to_all = do_all_to_all,
                        .all_gather_v = do_all_gather_v,
                        .all_to_all_v = do_all_to_all_v,
                        .broadcast = do_broadcast,
                        .gather = do_gather,
                        .scatter = do_scatter,
                        .barrier = do_barrier,
                        .error = do_error};

    r->body(&s, &r->failures);
    return NULL;
}

int mesh_peers(const struct subject *s)
{
    int peers = 0;

    pthread_mutex_lock(&mesh.lock);
    for (int i = 0; i < s->size; i++) {
        peers += i != s->rank && mesh.has_met[s->rank][i];
        mesh.has_met[s->rank][i] = false;
    }
    pthread_mutex_unlock(&mesh.lock);
    return peers;
}

int mesh_run(int size, void (*body)(const struct subject *s, int *failures))
{
    static struct rank ranks[MESH_RANKS];
    static struct sleeper_slot slots[MESH_RANKS];
    struct shm_coll coll;
    void *memory = coll_make(&coll, size);
    int failures = 0;

    memset(ranks, 0, sizeof(ranks));
    for (int i = 0; i < size; i++) {
        ranks[i].group.rank = i;
        ranks[i].group.size = size;
        ranks[i].group.shared.slots = slots;
        hosts_make(&ranks[i].group, ranks[i].host_of);
        if (memory) {
            ranks[i].coll = coll;
            ranks[i].coll.group = &ranks[i].group;
            ranks[i].group.shared.coll = &ranks[i].coll;
        }
        ranks[i].body = body;
        if (pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]) != 0)
            abort();
    }
    for (int i = 0; i < size; i++) {
        pthread_join(ranks[i].thread, NULL);
        failures += ranks[i].failures;
        free(ranks[i].group.scratch.memory);
        free(ranks[i].group.hierarchy);
    }
    free(memory);
    return failures;
}
