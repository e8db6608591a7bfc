/* SPDX-License-Identifier: MIT */
/*
 * result_bits.h: --check-bits: a hash of the results of a reduction whose bits depend on the order
 * in which the operands meet. The data depend on the rank, the place and the type alone, so equal
 * hashes of two runs mean equal bits.
 */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_RESULT_BITS_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_RESULT_BITS_H

#include "launcher/tools/bench/measure/bench_case.h"

enum { BENCH_BITS = 16 /* bytes of a hash */ };

/* Fills the buffers, makes the call and stores at rank 0 in out[BENCH_BITS] a hash of all ranks'
 * results. All ranks call it. Returns a call's ML_ERR_*, or ML_ERR_MEMORY. */
int result_bits_take(struct bench_case *c, unsigned char *out, struct fault *why);

#endif
