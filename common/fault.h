/* SPDX-License-Identifier: MIT */
/*
 * fault.h: what went wrong, as a code and a sentence.
 *
 * Everything that can fail returns 0 or a negative ML_ERR_* and fills its last parameter. The
 * caller owns the struct; there is nothing to free. Where a failure is detected the sentence says
 * what failed, the object by name and the system's word; a level above may put in front where
 * (fault_wrap); the one who handles it prints it, once. `why` may be NULL: then only the code counts.
 */
#ifndef COMMON_FAULT_H
#define COMMON_FAULT_H

#include "common/mlaunch.h"

struct fault {
    int code;       /* ML_ERR_*, 0 as long as nothing failed */
    char text[512]; /* a sentence without a final newline; cut, never overrun */
};

/* Set code and sentence; returns code, so that `return fault_set(…)` reads well. */
int fault_set(struct fault *why, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As fault_set, with ": " and errno's `err` in words behind it. */
int fault_os(struct fault *why, int code, int err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " before the sentence that is there; returns its code. */
int fault_wrap(struct fault *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* None of them returns 0: what the analyzer must know in order to see that callers go no further. */
#define fault_set(why, code, ...)     (fault_set(why, code, __VA_ARGS__), (code))
#define fault_os(why, code, err, ...) (fault_os(why, code, err, __VA_ARGS__), (code))
#define fault_wrap(...)               (fault_wrap(__VA_ARGS__), ML_ERR_SYSTEM)
#endif

#endif
