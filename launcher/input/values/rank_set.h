/* SPDX-License-Identifier: MIT */
/* rank_set.h: some of a job's ranks, as users write them: "0,3-5", or "all". */
#ifndef LAUNCHER_INPUT_VALUES_RANK_SET_H
#define LAUNCHER_INPUT_VALUES_RANK_SET_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

enum { RANK_SET_PIECES = 64 };

/* All zero: no rank. Ranges may overlap. */
struct rank_set {
    struct {
        int first, last;
    } pieces[RANK_SET_PIECES];
    int count;
    bool is_all;
};

/* Parses `length` bytes. ML_ERR_ARGUMENT: the sentence begins with the text. */
int rank_set_parse(struct rank_set *out, const char *text, size_t length, struct fault *why);

bool rank_set_has(const struct rank_set *s, int rank);

/* ML_ERR_ARGUMENT: one of the ranks is none of a job of `size` ranks. */
int rank_set_check(const struct rank_set *s, int size, struct fault *why);

#endif
