/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/comparison.h"

#include "common/text/printable.h"
#include "common/text/text_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* "slower" and "faster" of times, "more" and "less" of bandwidths. */
static const char *verdict_word(const struct comparison_row *r, enum comparison_verdict verdict)
{
    switch (verdict) {
    case COMPARISON_NOISE:
        return "noise";
    case COMPARISON_BETTER:
        return r->is_time ? "faster" : "more";
    case COMPARISON_WORSE:
        return r->is_time ? "slower" : "less";
    case COMPARISON_NONE:
        break;
    }
    return "-";
}

/* False: one of the values is missing or 0. */
static bool ratio_find(const struct comparison_row *r, int setting, double *ratio)
{
    const struct comparison_cell *first = &r->cells[0], *other = &r->cells[setting];

    if (first->is_missing || other->is_missing || first->middle <= 0)
        return false;
    *ratio = other->middle / first->middle;
    return true;
}

/* --- for people ------------------------------------------------------------------------------- */

static int what_width(const struct comparison *c)
{
    int width = 11;

    for (int i = 0; i < c->count; i++)
        if ((int)strlen(c->rows[i].what) > width)
            width = (int)strlen(c->rows[i].what);
    return width;
}

static void table_begin(const struct comparison *c, int width)
{
    printable_print("# %s: medians, times in us, bandwidths in GB/s (10^9 bytes)\n", c->operation);
    for (int i = 0; i < c->settings; i++) {
        printable_print("# %c: %s\n", 'A' + i, c->names[i][0] ? c->names[i] : "(nothing)");
        if (c->setups[i])
            printable_print("#    %s\n", c->setups[i]);
    }
    printable_print("# noise: %s\n", c->rule);
    printf("# %*s %10s", width, strcmp(c->operation, "link") == 0 ? "what" : "bytes", "A");
    for (int i = 1; i < c->settings; i++)
        printf(" %10c %7c/A  %-6s", 'A' + i, 'A' + i, "is");
    puts("");
}

static void value_print(const struct comparison_cell *cell)
{
    if (cell->is_missing)
        printf(" %10s", "-");
    else
        printf(" %10.*f", cell->middle < 10 ? 3 : 2, cell->middle);
}

static void table_print(const struct comparison *c)
{
    int width = what_width(c);

    table_begin(c, width);
    for (int row = 0; row < c->count; row++) {
        const struct comparison_row *r = &c->rows[row];

        printable_print("  %*s", width, r->what);
        for (int i = 0; i < c->settings; i++) {
            double ratio;

            value_print(&r->cells[i]);
            if (i && ratio_find(r, i, &ratio))
                printf(" %9.3f  %-6s", ratio, verdict_word(r, r->cells[i].verdict));
            else if (i)
                printf(" %9s  %-6s", "-", "-");
        }
        puts("");
    }
}

/* --- for programs ----------------------------------------------------------------------------- */

static void csv_text(const char *text)
{
    char one[2] = "";

    putchar('"');
    for (; *text; text++) {
        one[0] = *text;
        fputs(*text == '"' ? "\"\"" : one, stdout);
    }
    putchar('"');
}

/* One line for each value. */
static void csv_print(const struct comparison *c)
{
    puts("op,what,unit,setting,middle,low,high,ratio,difference");
    for (int row = 0; row < c->count; row++)
        for (int i = 0; i < c->settings; i++) {
            const struct comparison_row *r = &c->rows[row];
            const struct comparison_cell *cell = &r->cells[i];
            double ratio;

            if (cell->is_missing)
                continue;
            printf("%s,", c->operation);
            csv_text(r->what);
            printf(",%s,", r->is_time ? "us" : "GB/s");
            csv_text(c->names[i]);
            printf(",%.6f,%.6f,%.6f,", cell->middle, cell->low, cell->high);
            if (i && ratio_find(r, i, &ratio))
                printf("%.6f,%s\n", ratio, verdict_word(r, cell->verdict));
            else
                puts(",");
        }
}

static json_t *json_cell(const struct comparison_row *r, int setting)
{
    const struct comparison_cell *cell = &r->cells[setting];
    double ratio;
    json_t *j;

    if (cell->is_missing)
        return json_null();
    j = json_pack("{s:f, s:f, s:f}", "middle", cell->middle, "low", cell->low, "high", cell->high);
    if (j && setting && ratio_find(r, setting, &ratio)) {
        json_object_set_new(j, "ratio", json_real(ratio));
        json_object_set_new(j, "difference", json_string(verdict_word(r, cell->verdict)));
    }
    return j;
}

static int json_print(const struct comparison *c, struct fault *why)
{
    json_t *settings = json_array(), *rows = json_array();
    json_t *root = json_pack("{s:o, s:s, s:o, s:o}", "op", text_json(c->operation), "rule", c->rule,
                             "settings", settings, "rows", rows);
    int rc = 0;

    for (int i = 0; i < c->settings; i++)
        json_array_append_new(settings, text_json(c->names[i]));
    for (int row = 0; row < c->count; row++) {
        const struct comparison_row *r = &c->rows[row];
        json_t *values = json_array();

        for (int i = 0; i < c->settings; i++)
            json_array_append_new(values, json_cell(r, i));
        json_array_append_new(rows, json_pack("{s:o, s:s, s:o}", "what", text_json(r->what), "unit",
                                              r->is_time ? "us" : "GB/s", "values", values));
    }
    if (!root || json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else
        puts("");
    json_decref(root);
    return rc;
}

int comparison_print(const struct comparison *c, enum bench_form form, struct fault *why)
{
    if (form == BENCH_JSON)
        return json_print(c, why);
    (form == BENCH_CSV ? csv_print : table_print)(c);
    return 0;
}
