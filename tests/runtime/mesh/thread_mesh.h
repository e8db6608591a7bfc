/* SPDX-License-Identifier: MIT */
/*
 * thread_mesh.h: the collective algorithms on a mesh made of threads, for any size of group. Each
 * rank is a thread, and a message moves as late as possible (when its receiver waits) and without a
 * buffer between. So an algorithm that relies on buffering hangs here, and one that touches a
 * buffer too early gives wrong results.
 */
#ifndef TESTS_RUNTIME_MESH_THREAD_MESH_H
#define TESTS_RUNTIME_MESH_THREAD_MESH_H

#include "tests/runtime/collective_cases.h"

enum { MESH_RANKS = 64 };

/* Runs `body` on `size` ranks, with what the algorithms of MLAUNCH_ALGO need: shared memory,
 * several hosts. s->group is a struct group. Returns the number of failures on all ranks. */
int mesh_run(int size, void (*body)(const struct subject *s, int *failures));

/* With how many ranks s->rank has exchanged messages since this was last called there. */
int mesh_peers(const struct subject *s);

#endif
