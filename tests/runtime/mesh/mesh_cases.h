/* SPDX-License-Identifier: MIT */
/*
 * mesh_cases.h: what is run on a mesh of threads (thread_mesh.h): every kind of call, at many
 * sizes, with each algorithm.
 */
#ifndef TESTS_RUNTIME_MESH_MESH_CASES_H
#define TESTS_RUNTIME_MESH_MESH_CASES_H

#include "tests/runtime/collective_cases.h"

/* How many ranks, up to a 0: the short form has fewer numbers, and the fewest with a sanitizer,
 * which is five times as slow. */
struct mesh_sizes {
    int many[7], hosts[5], uneven[5], few[5], large[4], largest[4];
};
const struct mesh_sizes *mesh_sizes_chosen(void);

/* Asserts that `body` has no failure on each of `sizes` ranks, with the given MLAUNCH_ALGO: in a
 * child, because a failed call leaves other threads waiting. A hang is a failure. */
void mesh_check(const char *algorithms, const int *sizes,
                void (*body)(const struct subject *s, int *failures));

/* Adds a case's result; the process ends if the call failed. */
void mesh_count(int rc, int *failures);

/* Bodies. */
void mesh_reductions(const struct subject *s, int *failures);
void mesh_movements(const struct subject *s, int *failures);
void mesh_large(const struct subject *s,
                int *failures); /* many chunks, which keep pipelines full */
void mesh_random(const struct subject *s, int *failures);

#endif
