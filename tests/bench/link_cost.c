/* SPDX-License-Identifier: MIT */
/*
 * link_cost.c: what links cost before and after they are used. Build it against the library
 * (`pkg-config mlaunch`) and run it with `mlaunch -n N --output raw`, over TCP with `--backend tcp
 * --local net`. Rank 0 prints the number of ranks and the ms until all of them were through ml_init
 * and a barrier. Then, after that, after 100 all_reduces of 8 bytes, and after a message from each
 * rank to the one 1, 2, 4, … further, it prints the most sockets, private memory and page tables
 * (KiB) of a rank, and what is in /dev/shm (KiB; all users').
 */
#include <mlaunch.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

enum { SOCKETS, PRIVATE, TABLES, COSTS };

static void need(int rc)
{
    if (rc)
        ml_abort(2, ml_error());
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The sum of the file's lines that begin with this. */
static double kib_of(const char *path, const char *begins)
{
    FILE *f = fopen(path, "r");
    size_t size = strlen(begins);
    char line[256];
    double sum = 0;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, begins, size) == 0)
            sum += strtod(strchr(line, ':') + 1, NULL);
    if (f)
        fclose(f);
    return sum;
}

static double sockets(void)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    struct stat st;
    double count = 0;

    while (d && (e = readdir(d)))
        count += fstat(atoi(e->d_name), &st) == 0 && S_ISSOCK(st.st_mode);
    if (d)
        closedir(d);
    return count;
}

static double shared_kib(void)
{
    struct statvfs v;

    if (statvfs("/dev/shm", &v) != 0)
        return 0;
    return (double)(v.f_blocks - v.f_bfree) * (double)v.f_frsize / 1024;
}

static void tell(ml_group *w, const char *when)
{
    double v[COSTS], most[COSTS], shared;

    need(ml_barrier(w));
    v[SOCKETS] = sockets();
    v[PRIVATE] = kib_of("/proc/self/smaps_rollup", "Private_");
    v[TABLES] = kib_of("/proc/self/status", "VmPTE:");
    shared = shared_kib();
    need(ml_all_reduce(w, v, most, COSTS, ML_FLOAT64, ML_MAX));
    if (ml_rank(w) == 0)
        printf("%-12s %4.0f sockets %6.0f private %6.0f page tables %8.0f in /dev/shm\n", when,
               most[SOCKETS], most[PRIVATE], most[TABLES], shared);
}

int main(void)
{
    double begin = now_ms(), ms, sum = 1;
    int rank, size;
    ml_group *w;

    need(ml_init(&w));
    need(ml_barrier(w));
    ms = now_ms() - begin;
    rank = ml_rank(w);
    size = ml_size(w);
    need(ml_all_reduce(w, &ms, &ms, 1, ML_FLOAT64, ML_MAX));
    if (rank == 0)
        printf("%d ranks: %.0f ms\n", size, ms);
    tell(w, "ml_init");
    for (int i = 0; i < 100; i++)
        need(ml_all_reduce(w, &sum, &sum, 1, ML_FLOAT64, ML_MAX));
    tell(w, "all_reduce");
    for (int i = 1; i < size; i *= 2)
        need(ml_sendrecv(w, &sum, sizeof(sum), (rank + i) % size, &ms, sizeof(ms),
                         (rank + size - i) % size));
    tell(w, "messages");
    need(ml_finalize());
    return 0;
}
