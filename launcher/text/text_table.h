/* SPDX-License-Identifier: MIT */
/* text_table.h: rows of words as aligned columns. */
#ifndef LAUNCHER_TEXT_TEXT_TABLE_H
#define LAUNCHER_TEXT_TEXT_TABLE_H

struct text_table;

/* `head`: NULL-terminated titles, 16 at most; `sides`: 'l' or 'r' for each, kept by reference.
 * NULL: out of memory. */
struct text_table *text_table_create(const char *const *head, const char *sides);
void text_table_destroy(struct text_table *t); /* takes NULL */

/* As many cells as titles, copied; a row for which there is no memory is left out. */
void text_table_add(struct text_table *t, const char *const *cells);

/* To stdout, the titles first; the last column is as wide as it comes. */
void text_table_print(const struct text_table *t);

#endif
