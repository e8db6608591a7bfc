/* SPDX-License-Identifier: MIT */
/* saved_results.h: what `mlaunch bench … --json` has printed, read back. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_SAVED_RESULTS_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_SAVED_RESULTS_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* One measured value. */
struct saved_row {
    char *what;       /* owned: "4096", or of a link "a > b, 8, latency" */
    bool is_time;     /* us, and less is better; else GB/s */
    double middle;    /* the median */
    double low, high; /* the quartiles: half of what was measured lies between them */
};

struct saved_results {
    char *operation; /* owned: "all_reduce" */
    char *setup;     /* owned: with what it was measured, in words */
    struct saved_row *rows;
    int count;
};

/* Reads `size` bytes of JSON; messages begin with `name`. *out is set on success only; free it with
 * saved_results_clear(). ML_ERR_ARGUMENT: it is nothing that bench has printed; ML_ERR_MEMORY. */
int saved_results_parse(struct saved_results *out, const char *text, size_t size, const char *name,
                        struct fault *why);
/* The same from a file. */
int saved_results_read(struct saved_results *out, const char *path, struct fault *why);
void saved_results_clear(struct saved_results *r); /* takes zeros */

/* The row of that name, which is probably at index `at`. NULL: there is none. */
const struct saved_row *saved_results_find(const struct saved_results *r, const char *what, int at);

#endif
