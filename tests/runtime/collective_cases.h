/* SPDX-License-Identifier: MIT */
/*
 * collective_cases.h: compares every collective call with a plain reference, which each rank
 * computes itself, because it knows the inputs of all ranks. Used on the real library
 * (collectives.c) and on the algorithms alone (mesh/thread_mesh.h).
 */
#ifndef TESTS_RUNTIME_COLLECTIVE_CASES_H
#define TESTS_RUNTIME_COLLECTIVE_CASES_H

#include "common/mlaunch.h"

#include <stdbool.h>
#include <stdint.h>

/* The functions under test: the calls of mlaunch.h, or others with the same arguments. */
struct subject {
    ml_group *group;
    int rank, size;
    int (*all_reduce)(ml_group *, const void *, void *, size_t, ml_type, ml_op);
    int (*reduce_scatter)(ml_group *, const void *, void *, size_t, ml_type, ml_op);
    int (*reduce)(ml_group *, const void *, void *, size_t, ml_type, ml_op, int);
    int (*scan)(ml_group *, const void *, void *, size_t, ml_type, ml_op);
    int (*exclusive_scan)(ml_group *, const void *, void *, size_t, ml_type, ml_op);
    int (*all_reduce_with)(ml_group *, const void *, void *, size_t, const ml_operator *);
    int (*reduce_scatter_with)(ml_group *, const void *, void *, size_t, const ml_operator *);
    int (*reduce_with)(ml_group *, const void *, void *, size_t, const ml_operator *, int);
    int (*scan_with)(ml_group *, const void *, void *, size_t, const ml_operator *);
    int (*exclusive_scan_with)(ml_group *, const void *, void *, size_t, const ml_operator *);
    int (*all_gather)(ml_group *, const void *, void *, size_t);
    int (*all_to_all)(ml_group *, const void *, void *, size_t);
    int (*all_gather_v)(ml_group *, const void *, void *, const size_t *, const size_t *);
    int (*all_to_all_v)(ml_group *, const void *, const size_t *, const size_t *, void *,
                        const size_t *, const size_t *);
    int (*broadcast)(ml_group *, void *, size_t, int);
    int (*gather)(ml_group *, const void *, void *, size_t, int);
    int (*scatter)(ml_group *, const void *, void *, size_t, int);
    int (*sendrecv)(ml_group *, const void *, size_t, int, void *, size_t, int); /* may be NULL */
    int (*barrier)(ml_group *);
    const char *(*error)(void);
    int (*alloc)(size_t, void **); /* for the buffers; NULL: malloc and free */
    void (*free)(void *);
};

enum case_call {
    CASE_ALL_REDUCE,
    CASE_REDUCE_SCATTER,
    CASE_REDUCE,
    CASE_SCAN,
    CASE_EXCLUSIVE_SCAN, /* these have type and op */
    CASE_ALL_GATHER,
    CASE_ALL_TO_ALL,
    CASE_ALL_GATHER_V, /* up to 2 * count bytes each */
    CASE_ALL_TO_ALL_V,
    CASE_BROADCAST,
    CASE_GATHER,
    CASE_SCATTER,
    CASE_SENDRECV,
    CASE_BARRIER,
    CASE_CALLS,
};
enum case_place {
    PLACE_APART, /* in and out are two buffers */
    PLACE_MISALIGNED,
    PLACE_SAME,  /* in == out */
    PLACE_MIXED, /* in == out on ranks with an odd number only */
    PLACE_SHARE, /* all_gather, gather: in is the rank's own block of out */
    PLACES,
};
struct collective_case {
    enum case_call call;
    ml_type type;
    ml_op op;
    size_t count; /* elements, or bytes */
    int root;
    enum case_place place;
    unsigned seed; /* for the inputs */
    /* For reductions by an operator of the program, in place of type and op: bytes of an element,
     * or 0; and whether it is commutative. */
    size_t element;
    bool is_commutative;
};

/* Runs one case on this rank; all ranks run the same. Returns 0; 1: the result is wrong, as a line
 * on stderr says; -1: the call failed, and the group is no longer usable. */
int case_run(const struct subject *s, const struct collective_case *c);

/* True if all ranks get the same bits, twice, for sums and products of floats of any size. */
int case_same_bits(const struct subject *s, const struct collective_case *c);

/* Draws a case from `state`, and advances it. Ranks that start with the same state draw the same
 * case. */
struct collective_case case_random(uint64_t *state, int ranks, size_t most_bytes);

/* Case `i` of the diagonal, a short way through the matrix of calls × types × operations × sizes ×
 * places: in each round each reduction meets each type, each operation, each place and an operator
 * of the program of either kind, and each movement each place. Other rounds join others of these;
 * so `round` is what differs from algorithm to algorithm. */
enum { DIAGONAL_CASES = 16 * CASE_CALLS };
struct collective_case case_diagonal(int i, int round, int ranks);

bool case_is_valid(ml_type type, ml_op op);
size_t case_type_size(ml_type type);

#endif
