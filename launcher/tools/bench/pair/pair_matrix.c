/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_report.h"

#include <stdio.h>
#include <string.h>

enum {
    NUMBERS_MOST = 12, /* ends; of more, only the marks are shown */
    NAME = 16,
    CELL = 9,
    LEGEND = 112, /* columns */
};

static const char marks[PAIR_GRADES + 1] = " .o*#";
/* Black on green, yellow green, yellow, orange and red. */
static const int colours[PAIR_GRADES] = {114, 149, 221, 209, 203};

/* "# ", the name, and of each cell a blank, the number and its mark. */
static bool has_numbers(const struct pair_result *r)
{
    int width = 2 + NAME + r->end_count * (CELL + 2);

    return r->end_count <= NUMBERS_MOST && (!r->options->columns || width <= r->options->columns);
}

static void colour_begin(const struct pair_result *r, int grade)
{
    if (r->options->is_coloured)
        printf("\033[30;48;5;%dm", colours[grade]);
}

static void colour_end(const struct pair_result *r)
{
    if (r->options->is_coloured)
        printf("\033[0m");
}

static void cell_print(const struct pair_result *r, int from, int to, bool is_latency, double best)
{
    bool has_number = has_numbers(r);
    double value;
    int grade;

    if (!pair_result_cell(r, from, to, is_latency, &value)) {
        printf(has_number ? " %*s " : " %*s", has_number ? CELL : 1, from == to ? "-" : "?");
        return;
    }
    grade = pair_result_grade(value, best, is_latency);
    putchar(' ');
    colour_begin(r, grade);
    if (has_number)
        printf("%*.*f", CELL, value < 10 ? 3 : value < 1000 ? 2 : 0, value);
    /* Without a number a blank would look like no cell. */
    putchar(!has_number && grade == 0 ? '=' : marks[grade]);
    colour_end(r);
}

static void head_print(const struct pair_result *r)
{
    printf("# %-*.*s", NAME, NAME, "from \\ to");
    for (int i = 0; i < r->end_count; i++)
        if (has_numbers(r))
            printf(" %*.*s ", CELL, CELL, r->ends[i].name);
        else
            printf(" %d", i % 10);
    puts("");
}

static void legend_print(const struct pair_result *r, double best)
{
    bool is_narrow = r->options->columns && r->options->columns < LEGEND;

    printf("# best %.3g:", best);
    for (int grade = 0; grade < PAIR_GRADES; grade++) {
        int shown = grade || has_numbers(r) ? marks[grade] : '=';

        printf("%s ", !grade ? "" : is_narrow && grade == PAIR_GRADES / 2 ? ",\n#  " : ",");
        colour_begin(r, grade);
        printf("'%c'", shown);
        colour_end(r);
        printf(" %s", pair_result_grade_words(grade));
    }
    puts("");
}

void pair_matrix_print(const struct pair_result *r, bool is_latency)
{
    double best;

    if (!pair_result_best(r, is_latency, &best))
        return;
    printf("#\n# %s of %zu bytes%s\n", is_latency ? "typical latency in us" : "bandwidth in GB/s",
           pair_result_cell_bytes(r, is_latency),
           is_latency ? "" : ", from the row's to the column's");
    head_print(r);
    for (int i = 0; i < r->end_count; i++) {
        printf("# ");
        if (!has_numbers(r))
            printf("%d ", i % 10);
        printf("%-*.*s", NAME - (!has_numbers(r) ? 2 : 0), NAME - 2, r->ends[i].name);
        for (int j = 0; j < r->end_count; j++)
            cell_print(r, i, j, is_latency, best);
        puts("");
    }
    legend_print(r, best);
}
