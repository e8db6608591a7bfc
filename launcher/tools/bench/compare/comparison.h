/* SPDX-License-Identifier: MIT */
/* comparison.h: measured values of two or more settings side by side. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_COMPARISON_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_COMPARISON_H

#include "launcher/tools/bench/command/bench_options.h"

enum { COMPARISON_MOST = 8 /* settings */ };

/* How a value differs from the first setting's. */
enum comparison_verdict { COMPARISON_NOISE, COMPARISON_BETTER, COMPARISON_WORSE, COMPARISON_NONE };

struct comparison_cell {
    double middle, low, high;        /* the values that the verdict looks at */
    enum comparison_verdict verdict; /* NONE: there is nothing to compare */
    bool is_missing;
};

struct comparison_row {
    const char *what; /* not owned */
    bool is_time;     /* us, and less is better; else GB/s */
    struct comparison_cell cells[COMPARISON_MOST];
};

struct comparison {
    const char *operation, *rule;        /* the rule of the verdicts, a clause; all not owned */
    const char *names[COMPARISON_MOST];  /* one for each setting: a file, options */
    const char *setups[COMPARISON_MOST]; /* with what it was measured, or NULL */
    int settings;
    struct comparison_row *rows; /* not owned */
    int count;
};

/* Prints to stdout. ML_ERR_MEMORY: nothing was printed. */
int comparison_print(const struct comparison *c, enum bench_form form, struct fault *why);

#endif
