/* SPDX-License-Identifier: MIT */
/*
 * pattern.h: the data that a bench case sends, and with --check the results that it must give.
 * Operations that only move data send bytes that depend on the sender, the receiver and the place.
 * Reductions send ones, and at two places of three one rank sends a two: so every result is a small
 * whole number, exact in every type, and depends on the place.
 */
#ifndef LAUNCHER_TOOLS_BENCH_MEASURE_PATTERN_H
#define LAUNCHER_TOOLS_BENCH_MEASURE_PATTERN_H

#include "launcher/tools/bench/measure/bench_case.h"

/* Fills c->in with the data to send, and c->out with a value that no result has, and gives them to
 * the call. ML_ERR_DEVICE. */
int pattern_fill(struct bench_case *c, struct fault *why);

/* Fills the buffers, makes the call and counts the wrong elements at this rank (wrong bytes where
 * nothing is reduced). Returns the call's ML_ERR_*, or that of pattern_fill. */
int pattern_check(struct bench_case *c, uint64_t *errors, struct fault *why);

#endif
