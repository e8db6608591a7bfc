/* SPDX-License-Identifier: MIT */
/*
 * started_calls.h: the calls of mlaunch.h for collective_cases.h, now in the blocking form and now
 * started, beside other calls in flight whose results are checked too.
 */
#ifndef TESTS_RUNTIME_STARTED_CALLS_H
#define TESTS_RUNTIME_STARTED_CALLS_H

#include "tests/runtime/collective_cases.h"

/* Replaces the functions of `s` by such calls. Which calls are made is drawn from `seed` alone, so
 * all ranks agree; the form is drawn from the seed and the rank, so one rank makes the blocking
 * call that another one starts. */
struct subject started_calls(const struct subject *s, uint64_t seed);

/* Waits for everything that is still in flight. Returns how many of the calls beside had a wrong
 * result. */
unsigned long started_calls_end(void);

#endif
