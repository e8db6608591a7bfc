/* SPDX-License-Identifier: MIT */
/*
 * memory_bound [RANKS (2)] [BYTES (67108864)]: the least time of an all_reduce of BYTES over shared
 * memory on this machine, which is what memory and the way between the cores take, with no
 * arithmetic and no waiting. All ranks do the same at once. Prints medians in us.
 *
 *     copy      each rank reads its vector and writes one as long: a memcpy of BYTES
 *     give      what other ranks must get from each rank, 2 (RANKS - 1) / RANKS of BYTES (NCCL's
 *               bus bytes), is written where they can read it, in pieces that stay in a cache
 *     take the same number of bytes is read from there by another core bound     copy and take: one
 *     core does both, and neither can be avoided
 *
 * RANKS must not exceed the number of cores.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CELL = 256 << 10, ROUNDS = 15, RANKS_MOST = 64, PAGE = 4096 };

struct shared {
    _Atomic int arrived;
    double us[ROUNDS][RANKS_MOST];
    _Alignas(PAGE) char cells[RANKS_MOST][CELL];
};

static struct shared *shared;
static int rank, ranks;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void meet(void)
{
    int until = (atomic_fetch_add(&shared->arrived, 1) / ranks + 1) * ranks;

    while (atomic_load(&shared->arrived) < until)
        continue;
}

static double copy(char *out, const char *in, size_t size)
{
    double begin = now_us();

    memcpy(out, in, size);
    return now_us() - begin;
}

/* Times only one of the two copies, and no wait for the others' cells. */
static double through_cells(char *out, const char *in, size_t size, int which)
{
    double us[2] = {0};

    for (size_t done = 0; done < size; done += CELL) {
        size_t n = size - done < CELL ? size - done : CELL;

        us[0] += copy(shared->cells[rank], in, n);
        meet();
        us[1] += copy(out, shared->cells[(rank + 1) % ranks], n);
        meet();
    }
    return us[which];
}

static double give(char *out, const char *in, size_t size)
{
    return through_cells(out, in, size, 0);
}

static double take(char *out, const char *in, size_t size)
{
    return through_cells(out, in, size, 1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median over the rounds of the slowest rank's time. */
static double median_us(double (*run)(char *, const char *, size_t), char *out, const char *in,
                        size_t size)
{
    double slowest[ROUNDS] = {0};

    for (int i = 0; i < ROUNDS; i++) {
        meet();
        shared->us[i][rank] = run(out, in, size);
    }
    meet();
    for (int i = 0; i < ROUNDS; i++)
        for (int r = 0; r < ranks; r++)
            slowest[i] = shared->us[i][r] > slowest[i] ? shared->us[i][r] : slowest[i];
    qsort(slowest, ROUNDS, sizeof(slowest[0]), compare);
    meet();
    return slowest[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    size_t size, room, others;
    char *in, *out;
    double copied, given, taken;

    ranks = argc > 1 ? atoi(argv[1]) : 2;
    size = argc > 2 ? strtoul(argv[2], NULL, 10) : 64 << 20;
    if (ranks < 2 || ranks > RANKS_MOST || !size)
        return 1;
    room = (size + PAGE - 1) / PAGE * PAGE;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    while (rank < ranks - 1 && fork() != 0)
        rank++;
    in = aligned_alloc(PAGE, room > CELL ? room : CELL);
    out = aligned_alloc(PAGE, room > CELL ? room : CELL);
    if (!in || !out)
        abort();
    memset(in, 1, room > CELL ? room : CELL);
    memset(out, 1, room > CELL ? room : CELL);
    copied = median_us(copy, out, in, size);
    others = size / (size_t)ranks * (size_t)(ranks - 1) * 2;
    given = median_us(give, out, in, others);
    taken = median_us(take, out, in, others);
    if (rank == ranks - 1) {
        printf("copy %.1f us, give %.1f us, take %.1f us, bound %.1f us\n", copied, given, taken,
               copied + taken);
        fflush(stdout);
        for (int i = 0; i < ranks - 1; i++)
            wait(NULL);
    }
    return 0;
}
