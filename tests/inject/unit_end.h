/* SPDX-License-Identifier: MIT */
/*
 * unit_end.h: how a unit test's program ends after a call has failed in it. Each way is a line in
 * the log:
 *
 *     assertion FILE LINE    the test has noticed; the program ends there, because what the test
 *                            has not freed by then would be taken for a leak of the product
 *     leak                   the address sanitizer has found memory then that nothing points to
 *     crash SIGNAL OWNER AT… OWNER as in code_map.h, and the offsets on the stack
 */
#ifndef MLAUNCH_UNIT_END_H
#define MLAUNCH_UNIT_END_H

#pragma GCC visibility push(hidden)

/* log: stays. */
void unit_end_start(const char *log);
/* Appends the line to the file, by system calls that are not counted. Keeps errno. */
void unit_end_note(const char *log, const char *line);

#pragma GCC visibility pop

#endif
