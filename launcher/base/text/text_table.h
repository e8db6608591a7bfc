/* SPDX-License-Identifier: MIT */
/* text_table.h: prints rows of words as aligned columns. */
#ifndef LAUNCHER_BASE_TEXT_TEXT_TABLE_H
#define LAUNCHER_BASE_TEXT_TEXT_TABLE_H

#include <stdio.h>

struct text_table;

/* `head` holds the titles, at most 16, NULL-terminated. `sides` has 'l' or 'r' for each column and
 * is kept by reference. NULL: out of memory. */
struct text_table *text_table_create(const char *const *head, const char *sides);
void text_table_destroy(struct text_table *t); /* takes NULL */

/* Adds a row of as many cells as there are titles; they are copied. If memory is short the row is
 * left out. Characters that could control a terminal are replaced. */
void text_table_add(struct text_table *t, const char *const *cells);

/* On a terminal the row that was added last is bold. */
void text_table_stress(struct text_table *t);

/* Writes the titles and the rows. The last column is not padded. text_table_print: to stdout. */
void text_table_write(const struct text_table *t, FILE *to);
void text_table_print(const struct text_table *t);

#endif
