/* SPDX-License-Identifier: MIT */
/*
 * gpu_calls: three ranks make every call with buffers in the memory of GPUs. Each case runs with a
 * few ints and with many, with the stream named and without; the program waits for none of its own
 * work before a call, and reads results in another stream. Rank 0 prints "right: CASE" or "wrong:
 * CASE". --list prints the cases, and the name of one runs it alone. --host makes calls without a
 * driver, and prints how many parts of a libcuda the process has mapped.
 */
#include "common/mlaunch.h"
#include "tests/gpu/gpu_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANKS = 3, KEPT = -7 };

static ml_group *world;
static int rank;
static bool is_named;

/* What a failure of a call says. */
static bool is_done(int rc)
{
    if (rc)
        fprintf(stderr, "%s: rank %d: %d: %s\n", gpu_program_case, rank, rc, ml_error());
    return rc == 0;
}

/* Before each call whose work is in gpu_work. */
static ml_group *next(void)
{
    if (is_named)
        ml_next_stream(world, gpu_work);
    return world;
}

/* By host memory: what ranks agree on, and a call as programs without a GPU make it. */
static bool everywhere(bool is_right)
{
    uint8_t mine = is_right, all = 0;

    return is_done(ml_all_reduce(world, &mine, &all, 1, ML_UINT8, ML_MIN)) && all;
}

/* A vector that counts up from `first` once gpu_work is waited for. */
static int *counting(size_t n, int first)
{
    int *v = gpu_ints(n, GPU_PLAIN);

    gpu_count_up(v, n, first);
    return v;
}

static bool ends(bool is_right, int *a, int *b)
{
    gpu_free(a);
    if (b)
        gpu_free(b);
    return is_right;
}

/* Element i of rank r is 1000 * r + i. */
enum { SUM = 3000, STEP = 1000 };

static bool all_reduce(size_t n)
{
    int *in = counting(n, rank * STEP), *out = gpu_ints(n, GPU_PLAIN);
    bool is_right = is_done(ml_all_reduce(next(), in, out, n, ML_INT32, ML_SUM)) &&
                    gpu_counts(out, n, SUM, RANKS) && gpu_counts(in, n, rank * STEP, 1);

    return ends(is_right, in, out);
}

static bool all_reduce_in_place(size_t n)
{
    int *v = counting(n, rank * STEP);
    bool is_right =
        is_done(ml_all_reduce(next(), v, v, n, ML_INT32, ML_SUM)) && gpu_counts(v, n, SUM, RANKS);

    return ends(is_right, v, NULL);
}

static void add(void *inout, const void *in, size_t count, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((int *)inout)[i] += ((const int *)in)[i];
}

static bool all_reduce_with(size_t n)
{
    ml_operator op = {add, sizeof(int), 1, NULL};
    int *v = counting(n, rank * STEP);
    bool is_right =
        is_done(ml_all_reduce_with(next(), v, v, n, &op)) && gpu_counts(v, n, SUM, RANKS);

    return ends(is_right, v, NULL);
}

static bool reduce(size_t n)
{
    int *in = counting(n, rank * STEP), *out = rank == 1 ? gpu_ints(n, GPU_PLAIN) : NULL;
    bool is_right = is_done(ml_reduce(next(), in, out, n, ML_INT32, ML_SUM, 1)) &&
                    (rank != 1 || gpu_counts(out, n, SUM, RANKS));

    return ends(is_right, in, out);
}

static bool reduce_scatter(size_t n)
{
    int first = (int)n * rank, *in = counting(RANKS * n, rank * STEP);
    int *out = gpu_ints(n, GPU_PLAIN);
    bool is_right = is_done(ml_reduce_scatter(next(), in, out, n, ML_INT32, ML_SUM)) &&
                    gpu_counts(out, n, SUM + RANKS * first, RANKS);

    return ends(is_right, in, out);
}

static bool reduce_scatter_in_place(size_t n)
{
    int first = (int)n * rank, *v = counting(RANKS * n, rank * STEP);
    bool is_right = is_done(ml_reduce_scatter(next(), v, v, n, ML_INT32, ML_SUM)) &&
                    gpu_counts(v, n, SUM + RANKS * first, RANKS);

    return ends(is_right, v, NULL);
}

static bool scans(size_t n)
{
    static const int below[] = {0, 0, STEP, 3 * STEP};
    int *in = counting(n, rank * STEP), *out = counting(n, KEPT);
    bool is_right = is_done(ml_scan(next(), in, out, n, ML_INT32, ML_SUM)) &&
                    gpu_counts(out, n, below[rank + 1], rank + 1);

    gpu_count_up(out, n, KEPT);
    is_right = is_done(ml_exclusive_scan(next(), in, out, n, ML_INT32, ML_SUM)) && is_right;
    if (rank)
        is_right = gpu_counts(out, n, below[rank], rank) && is_right;
    return ends(is_right, in, out);
}

static bool all_gather(size_t n)
{
    int *in = counting(n, rank * (int)n), *out = gpu_ints(RANKS * n, GPU_PLAIN);
    bool is_right = is_done(ml_all_gather(next(), in, out, n * sizeof(int))) &&
                    gpu_counts(out, RANKS * n, 0, 1);

    return ends(is_right, in, out);
}

static bool all_gather_in_place(size_t n)
{
    int *v = gpu_ints(RANKS * n, GPU_PLAIN), *mine = v + (size_t)rank * n;
    bool is_right;

    gpu_count_up(mine, n, rank * (int)n);
    is_right =
        is_done(ml_all_gather(next(), mine, v, n * sizeof(int))) && gpu_counts(v, RANKS * n, 0, 1);
    return ends(is_right, v, NULL);
}

/* Block j of rank r begins at 10000000 * r + n * j. */
static bool all_to_all(size_t n)
{
    int far = 10000000, *in = counting(RANKS * n, rank * far),
        *out = gpu_ints(RANKS * n, GPU_PLAIN);
    bool is_right = is_done(ml_all_to_all(next(), in, out, n * sizeof(int)));

    for (int r = 0; r < RANKS; r++)
        is_right = is_right && gpu_counts(out + (size_t)r * n, n, r * far + rank * (int)n, 1);
    gpu_copy(out, in, RANKS * n);
    is_right = is_right && is_done(ml_all_to_all(next(), out, out, n * sizeof(int)));
    for (int r = 0; r < RANKS; r++)
        is_right = is_right && gpu_counts(out + (size_t)r * n, n, r * far + rank * (int)n, 1);
    return ends(is_right, in, out);
}

/* The copy of what is overwritten was queued first. */
static bool broadcast(size_t n)
{
    int *v = counting(n, rank * STEP), *before = gpu_ints(n, GPU_PLAIN);
    bool is_right;

    gpu_copy(before, v, n);
    is_right = is_done(ml_broadcast(next(), v, n * sizeof(int), 2)) &&
               gpu_counts(v, n, 2 * STEP, 1) && gpu_counts(before, n, rank * STEP, 1);
    return ends(is_right, v, before);
}

static bool gather_and_scatter(size_t n)
{
    int *part = counting(n, rank * (int)n), *all = rank ? NULL : gpu_ints(RANKS * n, GPU_PLAIN);
    bool is_right = is_done(ml_gather(next(), part, all, n * sizeof(int), 0)) &&
                    (rank || gpu_counts(all, RANKS * n, 0, 1));

    gpu_count_up(part, n, KEPT);
    is_right = is_done(ml_scatter(next(), all, part, n * sizeof(int), 0)) && is_right &&
               gpu_counts(part, n, rank * (int)n, 1);
    return ends(is_right, part, all);
}

/* Blocks of n - 1, n and n + 1 ints, each followed by a gap of 2, which stays as it is, though the
 * program changes it while the call is under way. */
static bool is_apart(const int *v, size_t n)
{
    const int *at = v;
    bool is_right = true;

    for (int r = 0; r < RANKS; at += n - 1 + (size_t)r + 2, r++)
        is_right = gpu_counts(at, n - 1 + (size_t)r, r * STEP, 1) &&
                   gpu_counts(at + n - 1 + r, 2, KEPT, 1) && is_right;
    return is_right;
}

static bool all_gather_v(size_t n)
{
    size_t *sizes = malloc(RANKS * sizeof(size_t)), *places = malloc(RANKS * sizeof(size_t));
    size_t mine = n - 1 + (size_t)rank, all = 0;
    int *in = counting(mine, rank * STEP), *out = gpu_ints(3 * (n + 2), GPU_PLAIN);
    ml_request *request;
    bool is_right;

    for (size_t r = 0; r < RANKS; r++) {
        sizes[r] = (n - 1 + r) * sizeof(int);
        places[r] = all * sizeof(int);
        all += n - 1 + r + 2;
        gpu_count_up(out + all - 2, 2, 0);
    }
    is_right = is_done(ml_start_all_gather_v(next(), in, out, sizes, places, &request));
    memset(sizes, 0xff, RANKS * sizeof(size_t));
    memset(places, 0xff, RANKS * sizeof(size_t));
    free(sizes);
    free(places);
    for (size_t r = 0, at = 0; r < RANKS; r++) {
        at += n - 1 + r + 2;
        gpu_count_up(out + at - 2, 2, KEPT);
    }
    gpu_wait();
    is_right = is_done(ml_wait(request)) && is_right;
    return ends(is_right && is_apart(out, n), in, out);
}

/* Rank r sends rank j n + j - 1 ints. */
static bool all_to_all_v(size_t n)
{
    size_t in_sizes[RANKS], in_places[RANKS], out_sizes[RANKS];
    int *in = gpu_ints(RANKS * (n + 3), GPU_PLAIN), *out = gpu_ints(RANKS * (n + 1), GPU_PLAIN);
    size_t mine = n - 1 + (size_t)rank;
    bool is_right;

    for (size_t r = 0; r < RANKS; r++) {
        in_sizes[r] = (n - 1 + r) * sizeof(int);
        in_places[r] = r * (n + 3) * sizeof(int);
        out_sizes[r] = mine * sizeof(int);
        gpu_count_up(in + r * (n + 3), n - 1 + r, rank * STEP + (int)r);
    }
    is_right = is_done(ml_all_to_all_v(next(), in, in_sizes, in_places, out, out_sizes, NULL));
    for (size_t r = 0; r < RANKS; r++)
        is_right = gpu_counts(out + r * mine, mine, (int)r * STEP + rank, 1) && is_right;
    return ends(is_right, in, out);
}

static int right_of(int r)
{
    return (r + 1) % RANKS;
}

static int left_of(int r)
{
    return (r + RANKS - 1) % RANKS;
}

static bool messages(size_t n)
{
    int *in = counting(n, rank * STEP), *out = counting(n, KEPT);
    bool is_right = true;

    if (rank == 0)
        is_right = is_done(ml_send(next(), in, n * sizeof(int), 1));
    else if (rank == 1)
        is_right = is_done(ml_recv(next(), out, n * sizeof(int), 0)) && gpu_counts(out, n, 0, 1);
    is_right = is_done(ml_sendrecv(next(), in, n * sizeof(int), right_of(rank), out,
                                   n * sizeof(int), left_of(rank))) &&
               gpu_counts(out, n, left_of(rank) * STEP, 1) && is_right;
    is_right = is_done(ml_sendrecv(next(), in, n * sizeof(int), right_of(rank), in, n * sizeof(int),
                                   left_of(rank))) &&
               gpu_counts(in, n, left_of(rank) * STEP, 1) && is_right;
    return ends(is_right, in, out);
}

/* From rank 0 to rank 1, whichever of both buffers are on a GPU. */
static bool message(size_t n, int first, enum gpu_kind kind, bool host_in, bool host_out)
{
    int *gpu = rank == 0 ? gpu_ints(n + 3, kind) : counting(n + 3, KEPT);
    int *host = calloc(n, sizeof(int));
    bool is_right = true;

    for (size_t i = 0; i < n && rank == 0; i++)
        host[i] = first + (int)i;
    if (rank == 0) {
        gpu_count_up(gpu, n + 3, first - 2);
        is_right = is_done(ml_send(next(), host_in ? host : gpu + 2, n * sizeof(int), 1));
    } else if (rank == 1) {
        is_right = is_done(ml_recv(next(), host_out ? host : gpu + 3, n * sizeof(int), 0));
        is_right = (host_out ? host[0] == first && host[n - 1] == first + (int)n - 1
                             : gpu_counts(gpu + 3, n, first, 1) && gpu_counts(gpu, 3, KEPT, 1)) &&
                   is_right;
    }
    free(host);
    gpu_wait(); /* where no call has done so */
    return ends(is_right, gpu, NULL);
}

/* Memory that is freed may lie at the same address the next time. */
static bool messages_mixed(size_t n)
{
    bool is_right = message(n, 100, GPU_PLAIN, false, false);

    is_right = message(n, 200, GPU_PLAIN, false, false) && is_right;
    is_right = message(n, 300, GPU_PLAIN, false, true) && is_right;
    is_right = message(n, 400, GPU_PLAIN, true, false) && is_right;
    is_right = message(n, 500, GPU_POOL, false, false) && is_right;
    is_right = message(n, 600, GPU_MANAGED, false, false) && is_right;
    for (int i = 0; i < 20; i++)
        is_right = message(n, 700 + i, GPU_PLAIN, false, false) && is_right;
    return is_right;
}

/* Each rank to the next one, while it waits for nothing. */
static bool messages_started(size_t n)
{
    int *in = counting(n, rank * STEP), *out = counting(n, KEPT);
    ml_request *request = NULL;
    bool is_right = is_done(ml_start_sendrecv(next(), in, n * sizeof(int), right_of(rank), out,
                                              n * sizeof(int), left_of(rank), &request)) &&
                    is_done(ml_wait(request)) && gpu_counts(out, n, left_of(rank) * STEP, 1);

    return ends(is_right, in, out);
}

/* What is behind a message that is shorter than its room stays as it is. */
static bool tags(size_t n)
{
    int *in = counting(n, rank * STEP), *out = counting(n + 3, KEPT);
    ml_status came = {-5, -5, 0};
    ml_request *request = NULL;
    bool is_right = is_done(ml_start_recv_tag(next(), out, (n + 3) * sizeof(int), ML_ANY, 7, &came,
                                              &request)) &&
                    is_done(ml_send_tag(next(), in, n * sizeof(int), right_of(rank), 7));

    is_right = is_done(ml_wait(request)) && is_right && came.from == left_of(rank) &&
               came.size == n * sizeof(int) && gpu_counts(out, n, came.from * STEP, 1) &&
               gpu_counts(out + n, 3, KEPT + (int)n, 1);
    gpu_count_up(out, n + 3, KEPT);
    is_right =
        is_done(ml_start_send_tag(next(), in, n * sizeof(int), left_of(rank), 8, &request)) &&
        is_done(ml_recv_tag(next(), out, (n + 3) * sizeof(int), right_of(rank), ML_ANY, NULL)) &&
        is_done(ml_wait(request)) && gpu_counts(out, n, right_of(rank) * STEP, 1) &&
        gpu_counts(out + n, 3, KEPT + (int)n, 1) && is_right;
    return ends(is_right, in, out);
}

/* The first message comes while the second one is waited for; and a rank's own, sent before the
 * receive and after it. */
static bool tags_early(size_t n)
{
    size_t size = n * sizeof(int);
    int *in = counting(n, rank * STEP), *first = counting(n, KEPT), *second = counting(n, KEPT);
    ml_request *r[3] = {NULL, NULL, NULL};
    bool is_right = is_done(ml_start_send_tag(next(), in, size, right_of(rank), 1, &r[0])) &&
                    is_done(ml_start_send_tag(next(), in, size, right_of(rank), 2, &r[1])) &&
                    is_done(ml_recv_tag(next(), second, size, left_of(rank), 2, NULL)) &&
                    is_done(ml_recv_tag(next(), first, size, left_of(rank), 1, NULL)) &&
                    gpu_counts(first, n, left_of(rank) * STEP, 1) &&
                    gpu_counts(second, n, left_of(rank) * STEP, 1);

    is_right = is_right && is_done(ml_send_tag(next(), in, size, rank, 3)) &&
               is_done(ml_recv_tag(next(), first, size, rank, 3, NULL)) &&
               is_done(ml_start_recv_tag(next(), second, size, rank, 4, NULL, &r[2])) &&
               is_done(ml_send_tag(next(), in, size, rank, 4));
    for (int i = 0; i < 3; i++)
        is_right = is_done(ml_wait(r[i])) && is_right;
    is_right =
        is_right && gpu_counts(first, n, rank * STEP, 1) && gpu_counts(second, n, rank * STEP, 1);
    gpu_free(second);
    return ends(is_right, in, first);
}

/* Whether long parts of messages went over sockets, and the most copies of the library that were
 * under way then. */
static _Atomic bool has_tcp;
static _Atomic int copying_then;

static void note_copies(const struct msghdr *m)
{
    size_t size = 0;
    int copying;

    for (size_t i = 0; i < m->msg_iovlen; i++)
        size += m->msg_iov[i].iov_len;
    if (size < 16384)
        return;
    copying = gpu_left("copying");
    has_tcp = true;
    copying_then = copying > copying_then ? copying : copying_then;
}

/* In the place of the C library's, for the library under test. */
__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    note_copies(m);
    return syscall(SYS_sendmsg, fd, m, flags);
}

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    note_copies(m);
    return syscall(SYS_recvmsg, fd, m, flags);
}

static void watch_copies(void)
{
    gpu_left("most");
    copying_then = 0;
    has_tcp = false;
}

/* True if pieces were copied beside each other, and, over TCP, while bytes were sent and received,
 * and no more host memory was registered than some pieces need. */
static bool has_overlapped(void)
{
    int most = gpu_left("most");

    if (most < 0)
        return true; /* a real GPU */
    if (most < 2 || (has_tcp && copying_then < 1) || gpu_left("largest") > 8 << 10) {
        fprintf(stderr, "%s: rank %d: %d copies at once, %d beside the link, %d KiB of memory\n",
                gpu_program_case, rank, most, has_tcp ? copying_then : -1, gpu_left("largest"));
        return false;
    }
    return true;
}

/* From memory that does not go by IPC; by RDMA it may go without pieces. */
static bool pieces(size_t n)
{
    size_t many = n + (10 << 20) / sizeof(int);
    bool is_right = true;
    int before, *v;

    if (n > 1000 || !is_named)
        return true;
    v = gpu_ints(many, GPU_POOL);
    watch_copies();
    gpu_count_up(v, many, rank ? KEPT : 1);
    before = gpu_left("copies");
    if (rank == 0)
        is_right = is_done(ml_send(next(), v, many * sizeof(int), 1));
    else if (rank == 1)
        is_right = is_done(ml_recv(next(), v, many * sizeof(int), 0));
    if (rank < 2 && before >= 0 && !getenv("FAKE_CUDA_PEERMEM"))
        is_right = gpu_left("copies") - before == 11 && has_overlapped() && is_right;
    gpu_wait(); /* in rank 2 no call has done so */
    return ends(is_right && (rank != 1 || gpu_counts(v, many, 1, 1)), v, NULL);
}

/* Cut only if MLAUNCH_GPU_PIECES says so. A piece of the broadcast is one copy. */
static bool long_calls(size_t n)
{
    size_t many = n + (10 << 20) / sizeof(int);
    bool is_cut = getenv("MLAUNCH_GPU_PIECES") != NULL, is_right;
    int *in, *out;

    if (n > 1000 || !is_named)
        return true;
    in = counting(many, rank * STEP);
    out = gpu_ints(many, GPU_PLAIN);
    watch_copies();
    is_right = is_done(ml_all_reduce(next(), in, out, many, ML_INT32, ML_SUM)) &&
               (!is_cut || has_overlapped()) && gpu_counts(out, many, SUM, RANKS);
    watch_copies();
    is_right = is_done(ml_broadcast(next(), in, many * sizeof(int), 1)) &&
               (!is_cut || has_overlapped()) && gpu_counts(in, many, STEP, 1) && is_right;
    return ends(is_right, in, out);
}

/* Messages, a collective call and a blocking one behind them. */
static bool started(size_t n)
{
    int *a = counting(n, rank * STEP), *b = gpu_ints(n, GPU_PLAIN), *c = counting(n, rank * STEP);
    int *d = counting(n, rank);
    ml_request *r[3] = {NULL, NULL, NULL};
    bool is_right = is_done(ml_start_recv(next(), b, n * sizeof(int), left_of(rank), &r[0])) &&
                    is_done(ml_start_send(next(), a, n * sizeof(int), right_of(rank), &r[1])) &&
                    is_done(ml_start_all_reduce(next(), c, c, n, ML_INT32, ML_SUM, &r[2])) &&
                    is_done(ml_all_reduce(next(), d, d, n, ML_INT32, ML_MAX));

    for (int i = 0; i < 3; i++)
        is_right = is_done(ml_wait(r[i])) && is_right;
    is_right = is_right && gpu_counts(b, n, left_of(rank) * STEP, 1) &&
               gpu_counts(c, n, SUM, RANKS) && gpu_counts(d, n, RANKS - 1, 1);
    return ends(ends(is_right, a, b), c, d);
}

/* Rank 0's are on its GPU, rank 1's in and rank 2's out are not. */
static bool mixed(size_t n)
{
    int *host = calloc(n, sizeof(int)), *gpu = counting(n, rank * STEP);
    int *in = rank == 1 ? host : gpu, *out = rank == 2 ? host : gpu;
    bool is_right = true;

    for (size_t i = 0; i < n; i++)
        host[i] = rank * STEP + (int)i;
    is_right = is_done(ml_all_reduce(next(), in, out, n, ML_INT32, ML_SUM));
    if (rank != 2)
        is_right = is_right && gpu_counts(out, n, SUM, RANKS);
    for (size_t i = 0; rank == 2 && i < n; i++)
        is_right = is_right && host[i] == SUM + RANKS * (int)i;
    free(host);
    gpu_wait(); /* where no call has done so */
    return ends(is_right, gpu, NULL);
}

/* The thread has no context, so the library has to find that of the memory. */
static bool other_kind(size_t n, enum gpu_kind kind)
{
    int *v = gpu_ints(n, kind);
    ml_request *request = NULL;
    void *context;
    bool is_right;

    gpu_count_up(v, n, rank * STEP);
    context = gpu_context_leave();
    is_right = is_done(ml_start_all_reduce(next(), v, v, n, ML_INT32, ML_SUM, &request)) &&
               is_done(ml_wait(request));
    gpu_context_enter(context);
    is_right = is_right && gpu_counts(v, n, SUM, RANKS);
    return ends(is_right, v, NULL);
}

static bool managed(size_t n)
{
    return other_kind(n, GPU_MANAGED);
}

static bool pool(size_t n)
{
    return other_kind(n, GPU_POOL);
}

/* The second is of another GPU, in a context that is not current. */
static bool two_gpus(size_t n)
{
    int *in = counting(n, rank * STEP), *out = gpu_ints_on(rank + 1, n);
    bool is_right = is_done(ml_all_reduce(next(), in, out, n, ML_INT32, ML_SUM)) &&
                    gpu_counts(out, n, SUM, RANKS);

    return ends(is_right, in, out);
}

/* NULL names the default stream. */
static bool default_stream(size_t n)
{
    void *kept = gpu_work;
    int *v;
    bool is_right;

    gpu_work = NULL;
    v = counting(n, rank * STEP);
    ml_next_stream(world, NULL);
    is_right =
        is_done(ml_all_reduce(world, v, v, n, ML_INT32, ML_SUM)) && gpu_counts(v, n, SUM, RANKS);
    gpu_work = kept;
    return ends(is_right, v, NULL);
}

/* A name holds for one call: the next one waits for another stream of the context too. */
static bool one_call(size_t n)
{
    void *kept = gpu_work;
    int *v = gpu_ints(n, GPU_PLAIN);
    bool is_right;

    ml_next_stream(world, gpu_reader);
    is_right = everywhere(true);
    gpu_work = gpu_stream();
    gpu_count_up(v, n, rank * STEP);
    is_right = is_done(ml_all_reduce(world, v, v, n, ML_INT32, ML_SUM)) &&
               gpu_counts(v, n, SUM, RANKS) && is_right;
    gpu_work = kept;
    return ends(is_right, v, NULL);
}

/* What is got is there once the request is done, which is asked for in both ways. */
static bool started_on_window(ml_window *w, size_t n, int *from, int *into)
{
    size_t size = n * sizeof(int);
    ml_request *request = NULL;
    int done = 0;
    bool is_right;

    gpu_count_up(from, n, KEPT - rank);
    is_right = is_done(ml_start_put(w, from, size, left_of(rank), 0, &request));
    is_right = is_right && is_done(ml_wait(request));
    gpu_count_up(from, n, 0);
    gpu_wait();
    is_right = is_right && is_done(ml_flush(w, ML_ALL)) && is_done(ml_barrier(world)) &&
               is_done(ml_start_get(w, into, size, right_of(rank), 0, &request)) &&
               is_done(ml_wait(request)) && gpu_counts(into, n, KEPT - right_of(right_of(rank)), 1);
    gpu_count_up(into, n, 0);
    is_right = is_right && is_done(ml_start_get(w, into, size, right_of(rank), 0, &request));
    while (is_right && !done)
        is_right = is_done(ml_test(request, &done));
    return is_right && gpu_counts(into, n, KEPT - right_of(right_of(rank)), 1) &&
           is_done(ml_wait(request)) && is_done(ml_barrier(world));
}

static bool window(size_t n)
{
    size_t size = n * sizeof(int), room = (size + 15) / 8 * 8;
    int *from = counting(n, rank * STEP), *into = gpu_ints(n, GPU_PLAIN);
    ml_window *w;
    bool is_right = is_done(ml_window_create(world, NULL, 2 * room + 8, &w));

    is_right = is_right && is_done(ml_put(w, from, size, right_of(rank), 0)) &&
               is_done(ml_put_signal(w, from, size, right_of(rank), room, 2 * room, 1)) &&
               is_done(ml_wait_signal(w, 2 * room, 1, -1)) &&
               is_done(ml_get(w, into, size, rank, 0)) &&
               gpu_counts(into, n, left_of(rank) * STEP, 1) &&
               is_done(ml_get(w, into, size, rank, room)) &&
               gpu_counts(into, n, left_of(rank) * STEP, 1) && is_done(ml_barrier(world));
    is_right = is_right && started_on_window(w, n, from, into);
    is_right = ml_put(w, from, size, rank, 2 * room) == ML_ERR_ARGUMENT && is_right;
    is_right = is_done(ml_window_free(w)) && is_right;
    return ends(is_right, from, into);
}

/* What the program does to the memory after ml_keep is not kept. */
static bool keep(size_t n)
{
    static uint64_t version;
    size_t size = n * sizeof(int);
    uint64_t found = 0;
    int *from = counting(n, rank * STEP), *into = gpu_ints(n, GPU_PLAIN);
    bool is_right = is_done(ml_keep(next(), "vector", from, size, ++version));

    gpu_count_up(from, n, 0);
    is_right = is_done(ml_barrier(world)) && is_right &&
               ml_kept(world, "vector", NULL, 0, &found) == 1 && found == version &&
               is_done(ml_restore(next(), "vector", ml_id(world, rank), into, size)) &&
               gpu_counts(into, n, rank * STEP, 1);
    return ends(is_right, from, into);
}

/* The capture goes on, and so does the group. */
static bool capture(size_t n)
{
    void *stream = gpu_stream();
    int *v = counting(n, rank * STEP);
    ml_request *request;
    bool is_right = gpu_capture_begin(stream, GPU_RELAXED);

    ml_next_stream(world, stream);
    is_right = ml_all_reduce(world, v, v, n, ML_INT32, ML_SUM) == ML_ERR_ARGUMENT && is_right;
    is_right = strstr(ml_error(), "is being captured") != NULL && is_right;
    ml_next_stream(world, stream);
    is_right = ml_start_all_reduce(world, v, v, n, ML_INT32, ML_SUM, &request) == ML_ERR_ARGUMENT &&
               !request && is_right;
    ml_next_stream(world, gpu_work);
    is_right = is_done(ml_all_reduce(world, v, v, n, ML_INT32, ML_SUM)) &&
               gpu_counts(v, n, SUM, RANKS) && is_right;
    is_right = gpu_capture_end(stream) && is_right;
    return ends(is_right, v, NULL);
}

/* The capture of another stream goes on, though it forbids to register memory, as the first call
 * does (no host memory of 17 MiB is kept), and to open that of others, as the second one does. */
static bool capture_elsewhere(size_t n)
{
    size_t many = n + (17 << 20) / sizeof(int);
    void *stream;
    int *v, *came;
    bool is_right;

    if (n > 1000 || !is_named)
        return true;
    stream = gpu_stream();
    v = counting(many, rank * STEP);
    came = counting(many, KEPT);
    is_right = gpu_capture_begin(stream, GPU_GLOBAL);
    ml_next_stream(world, gpu_work);
    is_right = is_done(ml_all_reduce(world, v, v, many, ML_INT32, ML_SUM)) && is_right;
    ml_next_stream(world, gpu_work);
    is_right = is_done(ml_sendrecv(world, v, many * sizeof(int), right_of(rank), came,
                                   many * sizeof(int), left_of(rank))) &&
               is_right;
    is_right = gpu_capture_end(stream) && gpu_left("mode") <= 0 && is_right;
    is_right = gpu_counts(v, many, SUM, RANKS) && gpu_counts(came, many, SUM, RANKS) && is_right;
    return ends(is_right, v, came);
}

/* Within buffers, at any offset; and none at all. */
static bool offsets(size_t n)
{
    int *v = counting(n + 2, rank * STEP);
    bool is_right = is_done(ml_all_reduce(next(), v, v, 0, ML_INT32, ML_SUM)) &&
                    is_done(ml_all_reduce(next(), v + 1, v + 1, n, ML_INT32, ML_SUM)) &&
                    gpu_counts(v, 1, rank * STEP, 0) && gpu_counts(v + 1, n, SUM + RANKS, RANKS) &&
                    gpu_counts(v + n + 1, 1, rank * STEP + (int)n + 1, 0);

    return ends(is_right, v, NULL);
}

/* Four pieces of memory at most are kept, and a few streams for each context. */
static bool leaks(size_t n)
{
    int before, registrations = gpu_left("registrations");

    all_reduce(n);
    before = gpu_left("streams");
    for (int i = 0; i < 20; i++)
        if (!all_reduce(n) || !started(n) || !pool(n))
            return false;
    return registrations <= 4 && gpu_left("registrations") <= 4 && gpu_left("depth") <= 1 &&
           gpu_left("streams") <= before + 4 && gpu_left("retained") <= 1 + gpu_left("imports");
}

static const struct {
    const char *name;
    bool (*run)(size_t n);
} cases[] = {
    {"all_reduce", all_reduce},
    {"all_reduce in place", all_reduce_in_place},
    {"all_reduce by an operator", all_reduce_with},
    {"reduce", reduce},
    {"reduce_scatter", reduce_scatter},
    {"reduce_scatter in place", reduce_scatter_in_place},
    {"scan and exclusive_scan", scans},
    {"all_gather", all_gather},
    {"all_gather in place", all_gather_in_place},
    {"all_to_all", all_to_all},
    {"broadcast", broadcast},
    {"gather and scatter", gather_and_scatter},
    {"all_gather_v, started, its gaps in use", all_gather_v},
    {"all_to_all_v", all_to_all_v},
    {"send, recv and sendrecv", messages},
    {"messages from and to any memory", messages_mixed},
    {"started messages", messages_started},
    {"messages with tags", tags},
    {"messages with tags, early and to itself", tags_early},
    {"a long message in pieces", pieces},
    {"long calls", long_calls},
    {"started calls", started},
    {"ranks with host memory", mixed},
    {"managed memory", managed},
    {"memory of a pool", pool},
    {"two GPUs", two_gpus},
    {"the default stream", default_stream},
    {"the name of a stream holds for one call", one_call},
    {"put and get", window},
    {"keep and restore", keep},
    {"a capture is refused", capture},
    {"a capture elsewhere goes on", capture_elsewhere},
    {"within a buffer", offsets},
    {"nothing is left", leaks},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static bool run(bool (*one)(size_t n))
{
    static const size_t sizes[] = {5, 70000};
    bool is_right = true;

    for (int way = 0; way < 4; way++) {
        is_named = way % 2;
        is_right = everywhere(one(sizes[way / 2])) && is_right;
    }
    return is_right;
}

static int count_drivers(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int count = 0;

    while (maps && fgets(line, sizeof(line), maps))
        count += strstr(line, "libcuda") != NULL;
    if (maps)
        fclose(maps);
    return count;
}

int main(int argc, char **argv)
{
    bool is_right = true;

    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < CASES; i++)
            puts(cases[i].name);
        return 0;
    }
    if (!is_done(ml_init(&world)))
        return 1;
    rank = ml_rank(world);
    if (ml_size(world) != RANKS || !everywhere(true))
        return 1;
    if (argc > 1 && strcmp(argv[1], "--host") == 0) {
        ml_next_stream(world, NULL);
        is_right = everywhere(true);
        if (rank == 0)
            printf("%d\n", count_drivers());
        return ml_finalize() != 0 || !is_right;
    }
    gpu_program_load(rank); /* late: after calls without it */
    for (int i = 0; i < CASES; i++) {
        bool was_right;

        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
            continue;
        gpu_program_case = cases[i].name;
        was_right = run(cases[i].run);
        if (rank == 0)
            printf("%s: %s\n", was_right ? "right" : "wrong", cases[i].name);
        is_right = was_right && is_right;
    }
    is_right =
        ml_finalize() == 0 && gpu_left("imports") <= 0 && gpu_left("retained") <= 1 && is_right;
    return !is_right;
}
