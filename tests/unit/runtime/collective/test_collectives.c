/* SPDX-License-Identifier: MIT */
/*
 * The collective algorithms for many sizes of group, on a mesh made of threads. Each rank is a
 * thread, and a message moves as late as possible (when its receiver waits) and without a buffer
 * between. So an algorithm that relies on buffering hangs here, and one that touches a buffer too
 * early gives wrong results.
 */
#include "runtime/collective/collectives.h"
#include "runtime/group/sleeper.h"
#include "runtime/group/transfer.h"
#include "runtime/group/wait.h"
#include "runtime/kernel/combiner.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/steps/algorithm_table.h"
#include "runtime/steps/hierarchy.h"
#include "runtime/transport/shm_board.h"
#include "tests/runtime/collective_cases.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_RANKS = 33 };

/* ---- the mesh: transfer_* of runtime/group/transfer.h ---- */

struct letter {
    struct transfer *t;
    struct call call;
    struct letter *next;
};
struct queue {
    struct letter *first, **end;
};
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct queue sends[MOST_RANKS][MOST_RANKS], recvs[MOST_RANKS][MOST_RANKS]; /* [from][to] */
} mesh = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static _Thread_local struct fault thread_fault;

static void queue_add(struct queue *q, struct transfer *t, const struct call *c)
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

static void deliver(const struct transfer *from, struct transfer *to, const struct call *c)
{
    if (to->what == TRANSFER_RECV) {
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

int transfer_start(struct group *g, struct transfer *t, int n, struct fault *why)
{
    (void)why;
    pthread_mutex_lock(&mesh.lock);
    for (int i = 0; i < n; i++) {
        t[i].done = false;
        if (t[i].what == TRANSFER_SEND)
            queue_add(&mesh.sends[g->rank][t[i].peer], &t[i], &g->call);
        else
            queue_add(&mesh.recvs[t[i].peer][g->rank], &t[i], &g->call);
    }
    pthread_cond_broadcast(&mesh.moved);
    pthread_mutex_unlock(&mesh.lock);
    return 0;
}

static bool all_done(const struct transfer *t, int n)
{
    for (int i = 0; i < n; i++)
        if (!t[i].done)
            return false;
    return true;
}

int transfer_wait(struct group *g, struct transfer *t, int n, struct fault *why)
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
    return rc ? fault_set(why, rc, "%s: the calls don't match", g->call_name) : 0;
}

int transfer_run(struct group *g, struct transfer *t, int n, struct fault *why)
{
    int rc = transfer_start(g, t, n, why);

    return rc ? rc : transfer_wait(g, t, n, why);
}

/* ---- the board: what shm_board.c needs of the library ---- */

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
static void *board_make(struct shm_board *b, int ranks)
{
    const char *algorithms = getenv("MLAUNCH_ALGO");
    size_t lines = BOARD_LINES * sizeof(struct board_line), each = lines + BOARD_CELLS * CELL;
    size_t all = (size_t)ranks * each;
    unsigned char *memory;

    if (ranks < 2 || !algorithms || !strstr(algorithms, "shared"))
        return NULL;
    memory = aligned_alloc(PROCESSOR_LINE, all);
    if (!memory)
        abort();
    memset(memory, 0, all);
    *b = (struct shm_board){
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
    g->call_name = name;
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
    struct shm_board board;
    pthread_t thread;
    struct group group;
    int host_of[MOST_RANKS];
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

/* Runs `body` on `size` ranks. Returns the number of failures on all of them. */
static int ranks_run(int size, void (*body)(const struct subject *s, int *failures))
{
    static struct rank ranks[MOST_RANKS];
    static struct sleeper_slot slots[MOST_RANKS];
    struct shm_board board;
    void *memory = board_make(&board, size);
    int failures = 0;

    memset(ranks, 0, sizeof(ranks));
    for (int i = 0; i < size; i++) {
        ranks[i].group.rank = i;
        ranks[i].group.size = size;
        ranks[i].group.slots = slots;
        hosts_make(&ranks[i].group, ranks[i].host_of);
        if (memory) {
            ranks[i].board = board;
            ranks[i].board.group = &ranks[i].group;
            ranks[i].group.board = &ranks[i].board;
        }
        ranks[i].body = body;
        if (pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]) != 0)
            abort();
    }
    for (int i = 0; i < size; i++) {
        pthread_join(ranks[i].thread, NULL);
        failures += ranks[i].failures;
        free(ranks[i].group.scratch);
        free(ranks[i].group.hierarchy);
    }
    free(memory);
    return failures;
}

/* A failed call leaves the other threads waiting, so the process (a child of the test) ends. */
static void count_failure(int rc, int *failures)
{
    if (rc < 0)
        _exit(1);
    *failures += rc;
}

/* Elements of the program, some of them longer than a cell, and vectors of many cells. */
static void run_operators(const struct subject *s, int *failures)
{
    static const size_t sizes[] = {1, 8, 24, 100, 4095, 5000}, counts[] = {0, 1, 7, 400};

    for (size_t e = 0; e < sizeof(sizes) / sizeof(sizes[0]); e++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++)
                for (int i = 0; i < 8 && (i < 2 || sizes[e] * counts[n] < 100000); i++) {
                    struct collective_case c = {.call = (enum case_call)call,
                                                .count = counts[n],
                                                .root = (int)(e + n) % s->size,
                                                .place = (enum case_place)(i / 2),
                                                .seed = (unsigned)n,
                                                .element = sizes[e],
                                                .is_commutative = i % 2};

                    count_failure(case_run(s, &c), failures);
                }
}

static void run_reductions(const struct subject *s, int *failures)
{
    static const size_t counts[] = {0, 1, 2, 3, 67, 1000, 5000};
    static const struct {
        ml_type type;
        ml_op op;
    } pairs[] = {{ML_FLOAT32, ML_SUM}, {ML_BFLOAT16, ML_MAX},   {ML_INT8, ML_PROD},
                 {ML_BOOL, ML_XOR},    {ML_COMPLEX64, ML_PROD}, {ML_FLOAT64, ML_MIN}};

    for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++)
                for (int place = PLACE_APART; place <= PLACE_MIXED; place++) {
                    struct collective_case c = {(enum case_call)call,
                                                pairs[p].type,
                                                pairs[p].op,
                                                counts[n],
                                                (int)n % s->size,
                                                (enum case_place)place,
                                                (unsigned)n,
                                                0,
                                                false};

                    count_failure(case_run(s, &c), failures);
                    if (call == CASE_ALL_REDUCE && pairs[p].type >= ML_FLOAT16)
                        count_failure(case_same_bits(s, &c), failures);
                }
    run_operators(s, failures);
}

static void run_movements(const struct subject *s, int *failures)
{
    static const size_t sizes[] = {0, 1, 7, 1000, 40000};

    for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++)
        for (int call = CASE_ALL_GATHER; call < CASE_CALLS; call++)
            for (int place = 0; place < PLACES; place++) {
                struct collective_case c = {
                    (enum case_call)call,   ML_UINT8,    ML_SUM, sizes[n], (int)(n + 1) % s->size,
                    (enum case_place)place, (unsigned)n, 0,      false};

                count_failure(case_run(s, &c), failures);
            }
}

/* Many chunks, which keep the pipelines full. */
static void run_large(const struct subject *s, int *failures)
{
    for (int call = 0; call < CASE_CALLS; call++)
        for (int place = PLACE_APART; place <= PLACE_MIXED; place += 2) {
            struct collective_case c = {(enum case_call)call,
                                        ML_INT64,
                                        ML_SUM,
                                        call <= CASE_REDUCE ? 100003 : 700001,
                                        s->size / 2,
                                        (enum case_place)place,
                                        7,
                                        0,
                                        false};

            if (call == CASE_REDUCE_SCATTER)
                c.count /= 2;
            count_failure(case_run(s, &c), failures);
        }
}

static void run_random(const struct subject *s, int *failures)
{
    uint64_t state = 42;

    for (int i = 0; i < (s->size > 9 ? 25 : 100); i++) {
        struct collective_case c = case_random(&state, s->size, 1 << 17);

        count_failure(case_run(s, &c), failures);
    }
}

/* Runs with the given MLAUNCH_ALGO, in a child, because it is read once in a process. */
static void check_ranks(const char *algorithms, const int *sizes,
                        void (*body)(const struct subject *s, int *failures))
{
    for (; *sizes; sizes++) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            setenv("MLAUNCH_ALGO", algorithms, 1);
            alarm(300); /* a hang is a failure */
            _exit(ranks_run(*sizes, body) != 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status)
            fail_msg("%d ranks, MLAUNCH_ALGO='%s': status %#x", *sizes, algorithms, status);
    }
}

/* How many ranks: the short form has fewer numbers, and the fewest with a sanitizer, which is five
 * times as slow. */
static const struct numbers {
    int many[7], hosts[5], uneven[5], few[5], large[4], largest[4];
} every_number = {{1, 2, 3, 4, 7, 9}, {4, 6, 9, 10}, {3, 5, 8, 11},
                  {2, 3, 5, 8},       {2, 3, 4},     {16, 17, MOST_RANKS}},
  some_numbers = {{1, 2, 3, 4, 7}, {4, 9}, {3, 8}, {2, 3, 5}, {3}, {17}},
  least_numbers = {{1, 2, 3, 7}, {4, 9}, {3, 8}, {2, 3}, {3}, {17}};
static const struct numbers *ranks_of = &some_numbers;

static void numbers_choose(void)
{
    const char *sanitize = getenv("SANITIZE");

    if (sanitize && strcmp(sanitize, "no") != 0)
        ranks_of = &least_numbers;
    else if (getenv("MLAUNCH_TEST_LONG"))
        ranks_of = &every_number;
}

static void test_reductions(void **state)
{
    (void)state;
    check_ranks("", ranks_of->many, run_reductions);
    check_ranks("all_reduce:doubling,reduce:binomial,reduce_scatter:flat", ranks_of->few,
                run_reductions);
    check_ranks("all_reduce:direct,reduce:direct,reduce_scatter:direct", ranks_of->few,
                run_reductions);
    check_ranks("all_reduce:ring", ranks_of->few, run_reductions);
    check_ranks("all_reduce:flat", ranks_of->few, run_reductions);
    check_ranks("all_reduce:shared", ranks_of->few, run_reductions);
    check_ranks("all_reduce:hierarchical", ranks_of->hosts, run_reductions);
    check_ranks("all_reduce:leaders,reduce:leaders", ranks_of->uneven, run_reductions);
    check_ranks("all_reduce:shared-flat", ranks_of->few, run_reductions);
}

static void test_movements(void **state)
{
    (void)state;
    check_ranks("", ranks_of->many, run_movements);
    check_ranks("broadcast:binomial,all_gather:direct", ranks_of->few, run_movements);
    check_ranks("broadcast:scatter,all_gather:ring", ranks_of->few, run_movements);
    check_ranks("all_gather:bruck", ranks_of->few, run_movements);
    check_ranks("all_gather:hierarchical", ranks_of->hosts, run_movements);
    check_ranks("all_gather:leaders,broadcast:leaders,barrier:leaders", ranks_of->uneven,
                run_movements);
}

static void test_large(void **state)
{
    (void)state;
    check_ranks("", ranks_of->large, run_large);
    check_ranks("all_reduce:ring,all_gather:ring", ranks_of->large, run_large);
    check_ranks("all_reduce:flat,reduce_scatter:flat", ranks_of->large, run_large);
    check_ranks("all_reduce:shared", ranks_of->large, run_large);
    check_ranks("all_reduce:hierarchical,all_gather:hierarchical", ranks_of->hosts, run_large);
    check_ranks("all_reduce:leaders,reduce:leaders,all_gather:leaders,broadcast:leaders",
                ranks_of->uneven, run_large);
    check_ranks("all_reduce:shared-flat", ranks_of->large, run_large);
}

static void test_random(void **state)
{
    (void)state;
    check_ranks("", ranks_of->few, run_random);
    check_ranks("", ranks_of->largest, run_random);
}

/* ---- the table ---- */

static void check_refused(const char *algorithms, const char *part)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct fault why = {0};
        struct group g = {.size = 2};
        enum algorithm a;

        setenv("MLAUNCH_ALGO", algorithms, 1);
        if (algorithm_read(&why) != ML_ERR_ARGUMENT || !strstr(why.text, part) ||
            algorithm_choose(CALL_BROADCAST, 1, &g, &a, NULL) != ML_ERR_ARGUMENT) {
            fprintf(stderr, "'%s': %s\n", algorithms, why.text);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_table(void **state)
{
    (void)state;
    check_refused("all_reduce:rign", "all_reduce has no algorithm 'rign'; it has: direct, "
                                     "doubling, flat, hierarchical, leaders, ring, shared, "
                                     "shared-flat");
    check_refused("all_reduce:bruck", "all_reduce has no algorithm 'bruck'");
    check_refused("all_reduce:ring,gather:ring", "'gather:ring' is not CALL:ALGORITHM");
    check_refused("barrier:ring",
                  "barrier has no algorithm 'ring'; it has: dissemination, leaders");
    check_refused("ring", "'ring' is not CALL:ALGORITHM");
    check_refused("all_reduce:ring,", "'' is not CALL:ALGORITHM");
    check_refused("all_reduce:", "has no algorithm ''");
    check_refused("all_reduce:ring,flat,@8..", "has no algorithm ''");
    check_refused("all_reduce:ring@", "'all_reduce:ring@' does not end in a range of sizes");
    check_refused("all_reduce:ring@..", "does not end in a range");
    check_refused("all_reduce:ring@8", "does not end in a range");
    check_refused("all_reduce:ring@9..8", "does not end in a range");
    check_refused("all_reduce:ring@-1..8", "does not end in a range");
    check_refused("all_reduce:ring@8x..", "does not end in a range");
    check_refused("all_reduce:ring@..9999999999G", "does not end in a range");
    check_refused("all_reduce@8..:ring", "'all_reduce@8..:ring' is not CALL:ALGORITHM");
    check_refused("ring@8..,all_reduce:ring", "'ring@8..' is not CALL:ALGORITHM");
}

/* Many items, of which the last is one too many. */
static void test_table_limit(void **state)
{
    char text[2048] = "all_reduce:ring";

    (void)state;
    for (int i = 0; i < 128; i++)
        strcat(text, ",ring@1..2");
    check_refused(text, "more than 128 items");
}

/* The algorithm of a call, with MLAUNCH_ALGO read anew. */
static enum algorithm chosen(const char *algorithms, enum call_kind kind, size_t bytes)
{
    struct group g = {.size = 3, .uses_tcp = true};
    enum algorithm a = ALGORITHMS;

    setenv("MLAUNCH_ALGO", algorithms, 1);
    assert_int_equal(algorithm_read(NULL), 0);
    assert_int_equal(algorithm_choose(kind, bytes, &g, &a, NULL), 0);
    return a;
}

static void test_table_sizes(void **state)
{
    static const char by_size[] = "all_reduce:shared,doubling@..4096,ring@32k..1M,broadcast:"
                                  "scatter@1..1,all_reduce:direct@2M..";
    uint8_t sum[ALGORITHM_SUM];

    (void)state;
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 0), ALGORITHM_DOUBLING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 4096), ALGORITHM_DOUBLING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 32768), ALGORITHM_RING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, 1 << 20), ALGORITHM_RING);
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, (1 << 20) + 1), ALGORITHM_FLAT); /* table */
    assert_int_equal(chosen(by_size, CALL_ALL_REDUCE, (size_t)1 << 40), ALGORITHM_DIRECT);
    assert_int_equal(chosen(by_size, CALL_BROADCAST, 1), ALGORITHM_SCATTER);
    assert_int_equal(chosen(by_size, CALL_BROADCAST, 0), ALGORITHM_BINOMIAL);
    /* The first that fits decides. */
    assert_int_equal(chosen("all_reduce:flat@..8,ring,direct", CALL_ALL_REDUCE, 8), ALGORITHM_FLAT);
    assert_int_equal(chosen("all_reduce:flat@..8,ring,direct", CALL_ALL_REDUCE, 9), ALGORITHM_RING);

    chosen("all_reduce:ring", CALL_ALL_REDUCE, 8);
    memcpy(sum, algorithm_sum(), sizeof(sum));
    chosen("all_reduce:flat", CALL_ALL_REDUCE, 8);
    assert_memory_not_equal(sum, algorithm_sum(), sizeof(sum));
    chosen("all_reduce:ring", CALL_ALL_REDUCE, 8);
    assert_memory_equal(sum, algorithm_sum(), sizeof(sum));
    unsetenv("MLAUNCH_ALGO");
    assert_int_equal(algorithm_read(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_table_limit),
        cmocka_unit_test(test_table_sizes), cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_movements),   cmocka_unit_test(test_large),
        cmocka_unit_test(test_random),
    };

    numbers_choose();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
