/* SPDX-License-Identifier: MIT */
/*
 * started_calls.h: the calls of mlaunch.h for collective_cases.h, made now in one form and now in the
 * other, with other calls in flight beside them that are checked too.
 */
#ifndef TESTS_RUNTIME_STARTED_CALLS_H
#define TESTS_RUNTIME_STARTED_CALLS_H

#include "tests/runtime/collective_cases.h"

/* `s` with such calls. Which of them are made is drawn from `seed`, alike on all ranks; in which form,
 * from it and the rank: one makes the blocking call that another one starts. */
struct subject started_calls(const struct subject *s, uint64_t seed);

/* Waits for all that is still in flight. The number of companions whose result was wrong. */
unsigned long started_calls_end(void);

#endif
