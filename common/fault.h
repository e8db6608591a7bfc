/* SPDX-License-Identifier: MIT */
/*
 * fault.h: a failure, as a code and a sentence.
 *
 * Every function that can fail returns 0 or a negative ML_ERR_* and fills its last parameter. The
 * caller owns the struct, and there is nothing to free. The function that detects a failure writes
 * a sentence with what failed, the object's name and the system's error. A caller may prepend where
 * it happened (fault_wrap). The one that handles the failure prints it, once. `why` may be NULL for
 * a caller that needs only the code.
 */
#ifndef COMMON_FAULT_H
#define COMMON_FAULT_H

#include "common/mlaunch.h"

struct fault {
    int code;       /* ML_ERR_*; 0: nothing has failed */
    char text[512]; /* a sentence without a final newline; cut, never overrun */
};

/* Sets code and sentence. Returns `code`, so that callers can `return fault_set(…)`. */
int fault_set(struct fault *why, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the system's text for the errno `err` appended. */
int fault_os(struct fault *why, int code, int err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prepends "prefix: " to the sentence; returns its code. */
int fault_wrap(struct fault *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* The analyzer cannot see that these never return 0. */
#define fault_set(why, code, ...)     (fault_set(why, code, __VA_ARGS__), (code))
#define fault_os(why, code, err, ...) (fault_os(why, code, err, __VA_ARGS__), (code))
#define fault_wrap(...)               (fault_wrap(__VA_ARGS__), ML_ERR_SYSTEM)
#endif

#endif
