/* SPDX-License-Identifier: MIT */
/*
 * forward.h: one rank's part of a model: its weights, its keys and values, and the arithmetic of a
 * step. All ranks have the same numbers between layers, bit for bit, since those come out of
 * ml_all_reduce and of arithmetic that is the same on every CPU of a kind.
 */
#ifndef LLM_STEPS_FORWARD_H
#define LLM_STEPS_FORWARD_H

#include "../compute/activation_buffer.h"
#include "../compute/attention.h"
#include "../compute/block_values.h"
#include "../compute/rope.h"
#include "candidates.h"
#include "llm_row.h"

#include <mlaunch.h>

struct forward {
    ml_group *group;
    const struct llm_kernels *kernels;
    struct gguf *gguf;
    struct model_shape shape;
    struct model_weights weights;
    struct attention_cache cache;
    struct rope rope;
    struct activation activation;
    uint32_t ranks;
    uint32_t slots, context;
    struct lead_times times;

    /* LLM_MOST_ROWS rows each. */
    float *x;               /* width: what goes from layer to layer */
    float *y;               /* width: the same after a norm */
    float *part;            /* width: this rank's summand, then the sum; from ml_alloc */
    float *q, *z;           /* heads * head_size */
    float *k, *v;           /* groups * head_size */
    float *gate, *up;       /* inner */
    float *cosines, *sines; /* head_size / 2 */
    float *scores;          /* context, of one head */
    float *logits;          /* vocabulary, of FORWARD_HEAD_ROWS rows */
};

enum { FORWARD_HEAD_ROWS = 4 };

/* Opens this rank's part; no other rank takes part in it. 0, or -1 and a sentence in error. */
int forward_open(struct forward *f, ml_group *group, const char *path,
                 const struct lead_options *options, char *error, size_t size);
void forward_close(struct forward *f); /* takes zeros */

/* Divides the weights anew, for a group of other ranks; what was computed is forgotten. The file
 * stays mapped. 0, or -1 and a sentence in error. */
int forward_divide(struct forward *f, ml_group *group, char *error, size_t size);

/* Carries out a step; the rows are valid. parts[i] is set to this rank's candidates of the i-th row
 * that wants some. Returns how many those are, or the library's negative error. */
int forward_rows(struct forward *f, const struct llm_row *rows, uint32_t n,
                 struct candidates *parts);

/* Reads this rank's weights once; returns the seconds it took. */
double forward_read(struct forward *f);

#endif
