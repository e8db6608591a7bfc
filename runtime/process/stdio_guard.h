/* SPDX-License-Identifier: MIT */
/*
 * stdio_guard.h: a program may have closed its standard input or output. A descriptor that we open
 * must not take such a place: what the program then prints would go to another rank.
 */
#ifndef RUNTIME_PROCESS_STDIO_GUARD_H
#define RUNTIME_PROCESS_STDIO_GUARD_H

enum { STDIO_GUARD = 3 /* descriptors 0, 1, 2 */ };

/* Fills the closed ones until stdio_guard_end. */
void stdio_guard_begin(int held[STDIO_GUARD]);
void stdio_guard_end(const int held[STDIO_GUARD]);

#endif
