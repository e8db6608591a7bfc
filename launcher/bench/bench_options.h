/* SPDX-License-Identifier: MIT */
/* bench_options.h: what `mlaunch bench` is to measure: read by mlaunch, which refuses nonsense before anything starts, and
 * again by each rank. */
#ifndef LAUNCHER_BENCH_BENCH_OPTIONS_H
#define LAUNCHER_BENCH_BENCH_OPTIONS_H

#include "common/fault.h"
#include "common/mlaunch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_kind {
    BENCH_ALL_REDUCE,
    BENCH_ALL_GATHER,
    BENCH_REDUCE_SCATTER,
    BENCH_REDUCE,
    BENCH_ALL_TO_ALL,
    BENCH_BROADCAST,
    BENCH_BARRIER,
    BENCH_SENDRECV,
    BENCH_LAT,
    BENCH_BW,
};
enum bench_form { BENCH_TABLE, BENCH_CSV, BENCH_JSON };
enum { BENCH_SIZES = 256 };

struct bench_options {
    enum bench_kind kind;
    int64_t sizes[BENCH_SIZES]; /* bytes, as asked for */
    int size_count;
    ml_type type;
    ml_op op;
    bool check;
    bool uses_alloc; /* the buffers are ml_alloc's, not malloc's */
    enum bench_form form;
    int stress;       /* rounds; 0: no */
    bool tune;        /* every algorithm of the operation instead of the one that the table has */
    const char *plot; /* a file's path, one of the words; or NULL */
};

/* Whether `word` is an option of bench; *takes_value: the next word is its value, unless "=" is in it. */
bool bench_options_has(const char *word, bool *takes_value);

/* `words`: NULL-terminated. ML_ERR_ARGUMENT in words. */
int bench_options_parse(struct bench_options *out, char *const *words, struct fault *why);

const char *bench_options_kind_name(enum bench_kind kind);
const char *bench_options_type_name(ml_type type);
size_t bench_options_type_size(ml_type type);
const char *bench_options_op_name(ml_op op);
bool bench_options_kind_reduces(enum bench_kind kind);

#endif
