/* SPDX-License-Identifier: MIT */
/* pair_result.h: what has been measured between pairs, as rank 0 keeps it. */
#ifndef LAUNCHER_TOOLS_BENCH_PAIR_PAIR_RESULT_H
#define LAUNCHER_TOOLS_BENCH_PAIR_PAIR_RESULT_H

#include "launcher/tools/bench/measure/bench_setup.h"
#include "launcher/tools/bench/pair/pair_traffic.h"

enum { PAIR_ALL_RAILS = -1 };

/* One of the ranks that take part: of each host the first, or, on one host alone, each. */
struct pair_end {
    int rank;
    char *name; /* owned: the host's, or "rank 3"; it has no control characters */
};

/* A pair at one size. */
struct pair_row {
    int from, to;         /* indices of ends; from < to, which leads */
    int rail;             /* from 0; PAIR_ALL_RAILS: as the library uses them */
    const char *ports[2]; /* at `from` and `to`, with RDMA and one rail; else "" */
    size_t bytes;
    struct time_summary ways[PAIR_WAYS]; /* over all rounds */
    double (*rounds)[PAIR_WAYS];         /* owned: the medians of each round, us */
    uint64_t errors;
};

struct pair_result {
    const struct bench_options *options;
    struct bench_setup setup;
    struct pair_end *ends;
    int end_count, turns;
    bool has_rails;        /* some are measured by themselves */
    struct pair_row *rows; /* rank 0's */
    int count, room;
};

/* Adds a row without values; it is valid until the next one is added. NULL: out of memory. */
struct pair_row *pair_result_add(struct pair_result *r, int from, int to, int rail, size_t bytes);
void pair_result_clear(struct pair_result *r); /* takes zeros */

/* GB/s (10^9 bytes) of a row at the time that a message takes; of both ways the sum. 0: none. */
double pair_result_gbps(const struct pair_row *row, enum pair_way way, double us);

/* A row's value for the way from one end to another one, as a matrix has it: the typical latency in
 * us, or the typical bandwidth of that direction. False: it was not measured. */
bool pair_result_cell(const struct pair_result *r, int from, int to, bool is_latency,
                      double *value);
/* The size at which the matrix of latencies or of bandwidths is measured: the least or greatest. */
size_t pair_result_cell_bytes(const struct pair_result *r, bool is_latency);

/* How much worse a value of a matrix is than the best one. 0: less than 1.1 times, then 1.5, 2.1
 * and 4 times; 4: worse. */
enum { PAIR_GRADES = 5 };
int pair_result_grade(double value, double best, bool is_latency);
/* The best value of a matrix. False: it is empty. */
bool pair_result_best(const struct pair_result *r, bool is_latency, double *best);
/* "within 1.1 of the best" and so on: static strings. */
const char *pair_result_grade_words(int grade);

#endif
