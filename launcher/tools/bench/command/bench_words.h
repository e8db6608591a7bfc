/* SPDX-License-Identifier: MIT */
/* bench_words.h: operations, types and sizes as users of other benchmarks and languages write
 * them. */
#ifndef LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_WORDS_H
#define LAUNCHER_TOOLS_BENCH_COMMAND_BENCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_alias {
    const char *word; /* NULL ends an array */
    int value;
};

/* Returns the index of `word` in `names`, which ends with NULL, or else the value of the alias that
 * it is, or -1. Ignores case, '_' and '-'. */
int bench_words_find(const char *const *names, const struct bench_alias *aliases, const char *word);

/* The same for operations: "all_reduce_perf" of NCCL's tests and "osu_allreduce" of OSU's are
 * all_reduce. */
int bench_words_find_operation(const char *const *names, const struct bench_alias *aliases,
                               const char *word);

/* Parses `length` characters of text: bytes, or "64K", "64k", "64KB", "64KiB" with 1024 bytes, and
 * so on with M and G. False: they are no size from 0 to `most`. */
bool bench_words_size(const char *text, size_t length, int64_t most, int64_t *out);

#endif
