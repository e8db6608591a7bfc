/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/compare_command.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/tools/bench/compare/comparison.h"
#include "launcher/tools/bench/compare/saved_results.h"

#include <stdlib.h>
#include <string.h>

enum { STATUS_SLOWER = 1 };

static int line_check(const struct command_line *line, struct fault *why)
{
    const char *other = line->borrowed.count ? line->borrowed.items[0] : NULL;

    for (size_t i = 0; i < line->own.count && !other; i++)
        if (strcmp(line->own.items[i], "--json") != 0 && strcmp(line->own.items[i], "--csv") != 0)
            other = line->own.items[i];
    if (!other && line->words.count > 2)
        other = line->words.items[2];
    if (other)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--compare goes with two files and --json or --csv, not with %.100s",
                         other);
    if (line->words.count < 2)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--compare needs two files that mlaunch bench --json has printed");
    return 0;
}

/* Different by more than noise: the quartiles' ranges do not overlap. */
static enum comparison_verdict rows_judge(const struct saved_row *a, const struct saved_row *b)
{
    if (a->low <= b->high && b->low <= a->high)
        return COMPARISON_NOISE;
    return (b->middle < a->middle) == a->is_time ? COMPARISON_BETTER : COMPARISON_WORSE;
}

static struct comparison_cell cell_of(const struct saved_row *row)
{
    if (!row)
        return (struct comparison_cell){.is_missing = true, .verdict = COMPARISON_NONE};
    return (struct comparison_cell){row->middle, row->low, row->high, COMPARISON_NONE, false};
}

/* The rows of A in its order, then those that only B has. */
static int rows_join(struct comparison_row *rows, const struct saved_results *a,
                     const struct saved_results *b, bool *is_worse)
{
    int count = 0;

    for (int i = 0; i < a->count; i++) {
        const struct saved_row *mine = &a->rows[i], *other = saved_results_find(b, mine->what, i);
        struct comparison_row *r = &rows[count++];

        *r = (struct comparison_row){mine->what, mine->is_time, {cell_of(mine), cell_of(other)}};
        if (other)
            r->cells[1].verdict = rows_judge(mine, other);
        *is_worse |= r->cells[1].verdict == COMPARISON_WORSE;
    }
    for (int i = 0; i < b->count; i++) {
        const struct saved_row *other = &b->rows[i];

        if (!saved_results_find(a, other->what, i))
            rows[count++] = (struct comparison_row){
                other->what, other->is_time, {cell_of(NULL), cell_of(other)}};
    }
    return count;
}

static int files_compare(char *const paths[2], enum bench_form form, bool *is_worse,
                         struct fault *why)
{
    struct comparison c = {.rule = "the middle halves of what was measured overlap",
                           .names = {paths[0], paths[1]},
                           .settings = 2};
    struct saved_results a = {0}, b = {0};
    int rc = saved_results_read(&a, paths[0], why);

    if (!rc)
        rc = saved_results_read(&b, paths[1], why);
    if (!rc && strcmp(a.operation, b.operation) != 0)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "--compare: %.200s has results of %.50s, and %.200s of %.50s", paths[0],
                       a.operation, paths[1], b.operation);
    if (!rc) {
        c.rows = calloc((size_t)a.count + (size_t)b.count + 1, sizeof(*c.rows));
        rc = c.rows ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (!rc) {
        c.operation = a.operation;
        c.setups[0] = a.setup;
        c.setups[1] = b.setup;
        c.count = rows_join(c.rows, &a, &b, is_worse);
        rc = comparison_print(&c, form, why);
    }
    free(c.rows);
    saved_results_clear(&a);
    saved_results_clear(&b);
    return rc;
}

int compare_command_run(const struct command_line *line, const struct bench_options *o)
{
    bool is_worse = false;
    struct fault why;
    int rc = line_check(line, &why);

    if (!rc)
        rc = files_compare(line->words.items, o->form, &is_worse, &why);
    if (rc)
        log_error("%s", why.text);
    return rc ? STATUS_OURS : is_worse ? STATUS_SLOWER : 0;
}
