/* SPDX-License-Identifier: MIT */
/*
 * local_add BYTES [CORES]: how fast CORES cores (default 1), all at once, each add an array of
 * float32 to another. Prints MB of one operand a second, of all cores together.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, CORES_MOST = 1024 };

/* Shared by all processes. */
struct board {
    _Atomic int come; /* at the beginning of rounds, so far */
    double seconds[ROUNDS][CORES_MOST];
};

static void add(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int work(struct board *b, int me, int cores, size_t count)
{
    float *to = calloc(count, sizeof(*to)), *from = calloc(count, sizeof(*from));

    if (!to || !from)
        return 1;
    for (size_t i = 0; i < count; i++) /* else all pages were the one zero page */
        from[i] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        double begin;

        atomic_fetch_add(&b->come, 1);
        while (atomic_load(&b->come) < (i + 1) * cores)
            ;
        begin = now_s();
        add(to, from, count);
        b->seconds[i][me] = now_s() - begin;
    }
    /* The compiler would drop sums that are never read. */
    return count && to[count / 2] != ROUNDS;
}

/* The slowest core's time in the fastest round. */
static double best_s(const struct board *b, int cores)
{
    double best = 0;

    for (int i = 0; i < ROUNDS; i++) {
        double slowest = 0;

        for (int core = 0; core < cores; core++)
            slowest = b->seconds[i][core] > slowest ? b->seconds[i][core] : slowest;
        if (i == 0 || slowest < best)
            best = slowest;
    }
    return best;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 4 << 20;
    int cores = argc > 2 ? atoi(argv[2]) : 1, failures = 0, status;
    struct board *b =
        mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (b == MAP_FAILED || cores < 1 || cores > CORES_MOST)
        return 1;
    for (int core = 0; core < cores; core++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(work(b, core, cores, bytes / sizeof(float)));
        if (pid < 0) {
            atomic_store(&b->come, INT_MAX / 2); /* so that nobody waits for it */
            return 1;
        }
    }
    while (wait(&status) > 0)
        failures += status != 0;
    if (failures)
        return 1;
    printf("%.1f\n", (double)bytes * cores / best_s(b, cores) / 1e6);
    return 0;
}
