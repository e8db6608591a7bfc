/* SPDX-License-Identifier: MIT */
/* text_gaps.h: the words of a command in which {host}, for instance, stands for a host's name. */
#ifndef COMMON_TEXT_TEXT_GAPS_H
#define COMMON_TEXT_TEXT_GAPS_H

struct text_gap {
    const char *name, *value; /* "{host}", "a" */
};

/* Returns `text` with the gaps' values in place of their names, for the caller to free. Names in
 * values stay as they are. NULL: out of memory. A gap whose name is NULL ends the array. */
char *text_gaps_fill(const char *text, const struct text_gap *gaps);

#endif
