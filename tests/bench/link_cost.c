/* SPDX-License-Identifier: MIT */
/*
 * link_cost.c: what links cost a rank before and after they are used. Build it against the library
 * (`pkg-config mlaunch`) and run it with `mlaunch -n N --backend tcp --local net --output raw`.
 * Rank 0 prints the number of ranks, the ms until all ranks were through ml_init and a barrier,
 * and, then and after 100 all_reduces of 8 bytes, the most sockets and the most private memory
 * (KiB) of a rank.
 */
#include <mlaunch.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

static double private_kib(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double sum = 0, kib;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Private_Clean: %lf", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %lf", &kib) == 1)
            sum += kib;
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

int main(void)
{
    double begin = now_ms(), v[5], most[5], sum = 1;
    ml_group *w;

    need(ml_init(&w));
    need(ml_barrier(w));
    v[0] = now_ms() - begin;
    v[1] = sockets();
    v[2] = private_kib();
    for (int i = 0; i < 100; i++)
        need(ml_all_reduce(w, &sum, &sum, 1, ML_FLOAT64, ML_MAX));
    v[3] = sockets();
    v[4] = private_kib();
    need(ml_all_reduce(w, v, most, 5, ML_FLOAT64, ML_MAX));
    if (ml_rank(w) == 0)
        printf("%d ranks: %.0f ms, %.0f sockets, %.0f KiB; then %.0f sockets, %.0f KiB\n",
               ml_size(w), most[0], most[1], most[2], most[3], most[4]);
    need(ml_finalize());
    return 0;
}
