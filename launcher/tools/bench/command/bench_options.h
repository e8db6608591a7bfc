/* SPDX-License-Identifier: MIT */
/* bench_options.h: what `mlaunch bench` measures. mlaunch reads the options to refuse mistakes
 * before anything starts, and each rank reads them again. */
#ifndef LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_OPTIONS_H
#define LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_OPTIONS_H

#include "common/fault.h"
#include "common/mlaunch.h"
#include "launcher/input/options/command_line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_kind {
    BENCH_ALL_REDUCE,
    BENCH_ALL_GATHER,
    BENCH_REDUCE_SCATTER,
    BENCH_REDUCE,
    BENCH_GATHER,
    BENCH_SCATTER,
    BENCH_ALL_TO_ALL,
    BENCH_BROADCAST,
    BENCH_BARRIER,
    BENCH_SENDRECV,
    BENCH_LAT,
    BENCH_BW,
    BENCH_PUT,
    BENCH_GET,
    BENCH_ATOMIC,
    BENCH_TRANSFER,
    BENCH_LINK,
};
enum bench_memory { BENCH_PLAIN, BENCH_ALLOC, BENCH_CUDA }; /* malloc(), ml_alloc(), a GPU */
extern const char *const bench_memory_names[];
enum bench_form { BENCH_TABLE, BENCH_CSV, BENCH_JSON };
enum { BENCH_SIZES = 256 };

struct bench_options {
    enum bench_kind kind;
    int64_t sizes[BENCH_SIZES]; /* bytes, as asked for */
    int size_count;
    ml_type type;
    ml_op op;
    bool check, check_bits;
    int memory; /* an enum bench_memory, of the buffers */
    enum bench_form form;
    int stress;       /* rounds; 0: off */
    bool tune;        /* measure every algorithm of the operation */
    const char *plot; /* files' paths, not owned: words; or NULL */
    const char *save; /* with --tune */
    int transfers;    /* for transfer, per pair and size */
    int is_zero_copy; /* 0 or 1 */
    int rounds;       /* for link, as all below */
    double duration_s;
    bool is_verbose, is_coloured, is_wide;
    int columns; /* the terminal's, which the table must fit; 0: there is none */
};

/* The options as they are read, before the sizes are listed. */
struct bench_reading {
    struct bench_options options;
    int64_t first, last; /* -1: not given */
    int factor;          /* 0: not given */
    bool is_unchecked;
    const char *of_link, *of_transfer; /* the name of an option that only these have; or NULL */
};

/* The last row is that of link's --verbose. They are stored in struct bench_reading. */
enum { BENCH_OPTIONS = 29 };
extern const struct option bench_options_table[];

/* Begins with the defaults; when the options are read, takes the words between them, and checks all
 * together. ML_ERR_ARGUMENT. */
void bench_options_begin(struct bench_reading *r);
int bench_options_end(struct bench_reading *r, const struct string_list *words, struct fault *why);

/* All of that for the program of a job. The words from argv[1] on must outlive *out. *out is set on
 * success only. ML_ERR_ARGUMENT. */
int bench_options_parse(struct bench_options *out, int argc, char *const *argv, struct fault *why);

/* Static strings, as the command line has them. */
const char *bench_options_kind_name(enum bench_kind kind);
const char *bench_options_type_name(ml_type type);
const char *bench_options_op_name(ml_op op);

size_t bench_options_type_size(ml_type type); /* bytes */

/* True for operations that combine elements, by `op`. */
bool bench_options_kind_reduces(enum bench_kind kind);

/* True for operations of rank 0 in the memory of rank 1. */
bool bench_options_kind_is_one_sided(enum bench_kind kind);

#endif
