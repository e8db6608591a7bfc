/* SPDX-License-Identifier: MIT */
/* report_line.h: the lines of a report about a hang. */
#ifndef LAUNCHER_RUN_STACKS_REPORT_LINE_H
#define LAUNCHER_RUN_STACKS_REPORT_LINE_H

#include "common/text/rank_list.h"

#include <jansson.h>
#include <stdio.h>

struct report_writer {
    FILE *to;
    const char *indent;
};

/* Writes a newline, the indent and the line, in which nothing controls a terminal. */
void report_line_write(const struct report_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "0-6,9": the ranks of a list that is sorted. */
void report_line_ranks(char out[RANK_LIST_TEXT], const json_t *ranks);

#endif
