/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/compare_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "launcher/tools/bench/command/bench_command.h"
#include "launcher/tools/bench/compare/child_output.h"
#include "launcher/tools/bench/compare/comparison.h"
#include "launcher/tools/bench/compare/saved_results.h"
#include "launcher/tools/bench/compare/two_samples.h"
#include "launcher/tools/bench/compare/vary_values.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With five runs each the two sets must not overlap at all: the chance of that is 2 in 252. */
enum { RUNS_LEAST = 5 };
static const double chance_most = 0.01;

struct varying {
    enum bench_form form;
    struct string_list words; /* what all runs have in common */
    struct vary_values settings;
    int runs;
    struct saved_results results[COMPARISON_MOST][TWO_SAMPLES_MOST];
};

/* --- words ------------------------------------------------------------------------------------ */

/* --json is added to each run's. */
static int words_take(struct varying *v, const struct command_line *line,
                      const struct bench_options *o, struct fault *why)
{
    int rc = string_list_add_all(&v->words, line->words.items, why);

    for (size_t i = 0; i < line->own.count && !rc; i++)
        if (strcmp(line->own.items[i], "--csv") != 0)
            rc = string_list_add(&v->words, line->own.items[i], why);
    if (!rc)
        rc = string_list_add_all(&v->words, line->borrowed.items, why);
    if (!rc && o->plot)
        rc =
            fault_set(why, ML_ERR_ARGUMENT, "--vary draws no picture: leave --plot and --svg away");
    v->form = o->form;
    return rc;
}

static int settings_take(struct varying *v, const struct command_line *line, struct fault *why)
{
    struct string_list values = {0};
    int rc = command_line_values(&values, line, "vary", why);

    if (!rc && values.count > 1)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--vary may be given once");
    if (!rc)
        rc = vary_values_parse(&v->settings, values.items[0], why);
    string_list_clear(&values);
    return rc;
}

static int runs_read(struct varying *v, const char *text, struct fault *why)
{
    int64_t runs = RUNS_LEAST;

    if (text && !number_parse(text, RUNS_LEAST, TWO_SAMPLES_MOST, &runs))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--runs: '%.100s' is not a number from %d, the fewest that show more than "
                         "noise, to %d",
                         text, RUNS_LEAST, TWO_SAMPLES_MOST);
    v->runs = (int)runs;
    return 0;
}

/* The words of a run, NULL-terminated, for the caller to free. Warnings are for the first run. */
static int run_words(char ***out, const struct varying *v, int setting, bool is_first,
                     const char *mlaunch, struct fault *why)
{
    const char *const first[] = {mlaunch, "bench", NULL};
    struct string_list l = {0};
    int rc = string_list_add_all(&l, (char *const *)first, why);

    if (!rc)
        rc = string_list_add_all(&l, v->words.items, why);
    if (!rc)
        rc = string_list_add(&l, "--json", why);
    if (!rc)
        rc = string_list_add_all(&l, v->settings.words[setting].items, why);
    if (!rc && !is_first)
        rc = string_list_add(&l, "-q", why);
    if (!rc)
        rc = string_list_release(&l, out, why);
    string_list_clear(&l);
    return rc;
}

/* What bench refuses is refused before the first run. */
static int settings_check(const struct varying *v, const char *mlaunch, struct fault *why)
{
    int rc = 0;

    for (int i = 0; i < v->settings.count && !rc; i++) {
        char **words = NULL, **job = NULL;
        int count = 0;

        rc = run_words(&words, v, i, true, mlaunch, why);
        while (!rc && words[count])
            count++;
        if (!rc)
            rc = bench_command_words(&job, count, words, why);
        strings_free(words);
        strings_free(job);
    }
    return rc;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* *status is not 0 if the run failed, which has told why. */
static int setting_run(struct varying *v, int setting, int run, const char *mlaunch, int *status,
                       struct fault *why)
{
    char **words = NULL, *text = NULL;
    size_t size = 0;
    int rc = run_words(&words, v, setting, !setting && !run, mlaunch, why);

    if (!rc)
        rc = child_output_run(words, &text, &size, status, why);
    if (!rc && *status == 0)
        rc = saved_results_parse(&v->results[setting][run], text, size, "a run's results", why);
    strings_free(words);
    free(text);
    return rc;
}

/* The settings take turns, in the other direction every second time, so that a machine that becomes
 * slower or faster meanwhile treats all alike. */
static int settings_run(struct varying *v, const char *mlaunch, int *status, struct fault *why)
{
    int count = v->settings.count, rc = 0;
    bool tells = isatty(STDERR_FILENO);

    for (int i = 0; i < v->runs * count && !rc && !*status; i++) {
        int run = i / count, setting = run % 2 ? count - 1 - i % count : i % count;

        if (tells)
            fprintf(stderr, "mlaunch: run %d of %d: %s\n", i + 1, v->runs * count,
                    v->settings.names[setting]);
        rc = setting_run(v, setting, run, mlaunch, status, why);
        if (!rc && *status && *status < STATUS_SIGNAL)
            log_error("--vary: run %d, with '%s', ended with status %d", i + 1,
                      v->settings.names[setting], *status);
    }
    return rc;
}

/* --- comparison ------------------------------------------------------------------------------- */

/* The medians of all runs of a setting in a row. False: a run has no such row. */
static bool medians_of(const struct varying *v, int setting, int row, double out[TWO_SAMPLES_MOST])
{
    const char *what = v->results[0][0].rows[row].what;

    for (int run = 0; run < v->runs; run++) {
        const struct saved_row *r = saved_results_find(&v->results[setting][run], what, row);

        if (!r)
            return false;
        out[run] = r->middle;
    }
    return true;
}

static void row_compare(const struct varying *v, struct comparison_row *out, int row)
{
    const struct saved_row *first = &v->results[0][0].rows[row];
    double values[COMPARISON_MOST][TWO_SAMPLES_MOST];

    *out = (struct comparison_row){.what = first->what, .is_time = first->is_time};
    for (int i = 0; i < v->settings.count; i++) {
        struct comparison_cell *cell = &out->cells[i];

        cell->verdict = COMPARISON_NONE;
        cell->is_missing = !medians_of(v, i, row, values[i]);
        if (cell->is_missing)
            continue;
        cell->middle = two_samples_median(values[i], v->runs);
        cell->low = values[i][0];
        cell->high = values[i][v->runs - 1];
        if (!i || out->cells[0].is_missing)
            continue;
        if (two_samples_chance(values[0], values[i], v->runs) >= chance_most)
            cell->verdict = COMPARISON_NOISE;
        else
            cell->verdict = (cell->middle < out->cells[0].middle) == out->is_time
                                ? COMPARISON_BETTER
                                : COMPARISON_WORSE;
    }
}

static int runs_compare(const struct varying *v, struct fault *why)
{
    char rule[128];
    struct comparison c = {.operation = v->results[0][0].operation,
                           .rule = rule,
                           .settings = v->settings.count,
                           .count = v->results[0][0].count};
    int rc;

    snprintf(rule, sizeof(rule),
             "chance makes %d runs each differ so in 1 of 100 cases or more (Mann-Whitney)",
             v->runs);
    for (int i = 0; i < c.settings; i++)
        c.names[i] = v->settings.names[i];
    c.setups[0] = v->results[0][0].setup;
    c.rows = calloc((size_t)c.count + 1, sizeof(*c.rows));
    if (!c.rows)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < c.count; i++)
        row_compare(v, &c.rows[i], i);
    rc = comparison_print(&c, v->form, why);
    free(c.rows);
    return rc;
}

int vary_command_run(const char *mlaunch, const struct command_line *line,
                     const struct bench_options *o)
{
    struct varying *v = calloc(1, sizeof(*v));
    struct fault why;
    int status = 0, rc = v ? 0 : fault_set(&why, ML_ERR_MEMORY, "out of memory");

    if (!rc)
        rc = words_take(v, line, o, &why);
    if (!rc)
        rc = runs_read(v, command_line_value(line, "runs"), &why);
    if (!rc)
        rc = settings_take(v, line, &why);
    if (!rc)
        rc = settings_check(v, mlaunch, &why);
    if (!rc)
        rc = settings_run(v, mlaunch, &status, &why);
    if (!rc && !status)
        rc = runs_compare(v, &why);
    if (rc)
        log_error("%s", why.text);
    for (int i = 0; v && i < COMPARISON_MOST; i++)
        for (int run = 0; run < TWO_SAMPLES_MOST; run++)
            saved_results_clear(&v->results[i][run]);
    if (v) {
        vary_values_clear(&v->settings);
        string_list_clear(&v->words);
    }
    free(v);
    return rc ? STATUS_OURS : status;
}
