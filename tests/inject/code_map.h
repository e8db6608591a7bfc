/* SPDX-License-Identifier: MIT */
/*
 * code_map.h: whose code makes a call, in a unit test's program, of which the product's code and
 * the test's are parts. $MLAUNCH_TEST_FAIL_CODE names a file of the program's code (walk_unit.py):
 * lines "START SIZE p" of the product's and "START SIZE t" of the test's, offsets in hex.
 */
#ifndef MLAUNCH_CODE_MAP_H
#define MLAUNCH_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Where a call comes from: the innermost function on the stack that is the product's or the
 * test's. Libraries between it and the call are passed over. */
struct code_place {
    char owner;      /* 'p', 't', or '?' if there is neither on the stack */
    uintptr_t where; /* its offset in the program */
    uint64_t path;   /* the same for calls with the same stack */
};

/* Reads the file; does nothing without the variable. */
void code_map_read(void);
bool code_map_is_there(void);
/* The place that calls; '?' for calls that are made while a place is being found. */
struct code_place code_map_place(void);
/* The offsets of the product's and the test's functions on the stack, the innermost first; how many
 * they are. */
int code_map_stack(uintptr_t where[], int most);
const void *code_map_address(const struct code_place *place);

#pragma GCC visibility pop

#endif
