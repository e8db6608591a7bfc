/* SPDX-License-Identifier: MIT */
/*
 * pattern.h: what --check sends and expects. Where nothing is reduced: bytes that depend on who sends, to whom, and the
 * place. Where something is: ones, and at two places of three one rank's two; so every result is a small whole number,
 * exact in every type, and it depends on the place.
 */
#ifndef LAUNCHER_BENCH_PATTERN_H
#define LAUNCHER_BENCH_PATTERN_H

#include "launcher/bench/buffers.h"

void pattern_fill(struct bench_case *c);             /* c->in */
uint64_t pattern_errors(const struct bench_case *c); /* in c->out */

#endif
