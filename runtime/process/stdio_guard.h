/* SPDX-License-Identifier: MIT */
/*
 * stdio_guard.h: keeps descriptors 0 to 2 free of mlaunch's own. A program may have closed its
 * standard input or output. If a descriptor that the runtime opens took such a number, the
 * program's output would go to another rank.
 */
#ifndef RUNTIME_PROCESS_STDIO_GUARD_H
#define RUNTIME_PROCESS_STDIO_GUARD_H

enum { STDIO_GUARD = 3 /* descriptors 0, 1, 2 */ };

/* stdio_guard_begin occupies the closed ones of them, stdio_guard_end closes them again; between
 * the two, the calling thread opens its descriptors. */
void stdio_guard_begin(int held[STDIO_GUARD]);
void stdio_guard_end(const int held[STDIO_GUARD]);

#endif
