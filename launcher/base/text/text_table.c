/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/text_table.h"

#include "common/text/printable.h"
#include "launcher/base/text/string_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS_MAX = 16 };

static const char bold[] = "\033[1m", plain[] = "\033[0m";

struct text_table {
    const char *sides;
    size_t columns;
    struct string_list cells; /* row after row, the titles first */
    bool *stressed;           /* for each row up to the last that is; or NULL */
    size_t stressed_count;
};

struct text_table *text_table_create(const char *const *head, const char *sides)
{
    struct text_table *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->sides = sides;
    t->columns = strlen(sides);
    text_table_add(t, head);
    return t;
}

void text_table_destroy(struct text_table *t)
{
    if (!t)
        return;
    string_list_clear(&t->cells);
    free(t->stressed);
    free(t);
}

void text_table_add(struct text_table *t, const char *const *cells)
{
    for (size_t i = 0; i < t->columns; i++) {
        if (string_list_add(&t->cells, cells[i], NULL))
            break;
        printable_mend(t->cells.items[t->cells.count - 1], "");
    }
    /* Half a row would shift all rows after it. */
    while (t->columns && t->cells.count % t->columns) {
        free(t->cells.items[--t->cells.count]);
        t->cells.items[t->cells.count] = NULL;
    }
}

void text_table_stress(struct text_table *t)
{
    size_t rows = t->columns ? t->cells.count / t->columns : 0;
    bool *more = rows ? realloc(t->stressed, rows * sizeof(*more)) : NULL;

    if (!more)
        return;
    for (size_t i = t->stressed_count; i < rows; i++)
        more[i] = false;
    more[rows - 1] = true;
    t->stressed = more;
    t->stressed_count = rows;
}

/* The number of characters: bytes that continue a character of UTF-8 have no width. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

void text_table_write(const struct text_table *t, FILE *to)
{
    size_t widths[COLUMNS_MAX] = {0};
    bool is_terminal = isatty(fileno(to));

    for (size_t i = 0; i < t->cells.count; i++) {
        size_t w = width_of(t->cells.items[i]), *width = &widths[i % t->columns];

        *width = w > *width ? w : *width;
    }
    for (size_t i = 0; i < t->cells.count; i++) {
        const char *cell = t->cells.items[i];
        size_t column = i % t->columns, row = i / t->columns;
        int pad = (int)(widths[column] - width_of(cell));
        bool is_last = column == t->columns - 1;
        bool is_bold = is_terminal && row < t->stressed_count && t->stressed[row];

        if (is_bold && column == 0)
            fputs(bold, to);
        if (t->sides[column] == 'r')
            fprintf(to, "%*s%s", pad, "", cell);
        else
            fprintf(to, "%s%*s", cell, is_last ? 0 : pad, "");
        if (is_bold && is_last)
            fputs(plain, to);
        fputs(is_last ? "\n" : "  ", to);
    }
}

void text_table_print(const struct text_table *t)
{
    text_table_write(t, stdout);
}
