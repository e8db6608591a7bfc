/* SPDX-License-Identifier: MIT */
/* printable.h: text for a terminal. Sentences and tables hold names and texts from other hosts and
 * from ranks; no character in them may control the terminal or change the order of what is read.
 * Everything that mlaunch says in its own words goes through here; the ranks' output does not. */
#ifndef COMMON_TEXT_PRINTABLE_H
#define COMMON_TEXT_PRINTABLE_H

/* Replaces by '?', in place, each control character (C0, DEL, C1), each character that overrides
 * the direction of text (U+202A to U+202E, U+2066 to U+2069), and each byte that is not UTF-8.
 * Characters below 128 that are in `kept` stay. The text does not become longer. */
void printable_mend(char *text, const char *kept);

/* printf to stdout of a text that is mended, with newlines and tabs kept. Prints nothing if memory
 * is short. */
void printable_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
