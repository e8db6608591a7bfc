/* SPDX-License-Identifier: MIT */
#include "launcher/run/stacks/report_line.h"

#include "common/text/printable.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

enum { LINE = 1024 };

void report_line_write(const struct report_writer *w, const char *format, ...)
{
    char line[LINE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    printable_mend(line, "");
    fprintf(w->to, "\n%s%s", w->indent, line);
}

void report_line_ranks(char out[RANK_LIST_TEXT], const json_t *ranks)
{
    struct rank_list list = {0};
    const char *text = "", *blank;

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        json_int_t rank = json_integer_value(json_array_get(ranks, i));

        if (rank >= 0 && rank <= INT_MAX)
            rank_list_add(&list, (int)rank);
    }
    if (list.count)
        text = rank_list_end(&list);
    blank = strchr(text, ' ');
    snprintf(out, RANK_LIST_TEXT, "%s", blank ? blank + 1 : text);
}
