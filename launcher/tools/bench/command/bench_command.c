/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/command/bench_command.h"

#include "launcher/base/process/install_path.h"
#include "launcher/base/text/string_list.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    LONG_S = 5,
    LINK_WAYS = 4, /* that a pair measures, one after the other */
    COLUMNS_USUAL = 80,
};

static const struct command_hint hints[] = {{"-w", "it warms up by itself; -H names hosts"},
                                            {NULL, NULL}}; /* NCCL's tests have it */

static const struct command_syntax syntax = {
    .name = "bench",
    .usage = "usage: mlaunch bench [OPERATION] [OPTIONS]\n"
             "       mlaunch bench --compare A B\n"
             "\n"
             "Measures one operation over a range of sizes, as the tests of NCCL and OSU do.\n"
             "OPERATION: all_reduce (default), all_gather, reduce_scatter, reduce, gather,\n"
             "scatter, all_to_all, broadcast, barrier, sendrecv, lat, bw; put, get and atomic,\n"
             "by rank 0 in rank 1's memory; transfer, tensors from a producer to a consumer;\n"
             "or link, the way between each pair of hosts (or of ranks of one host).",
    .ending = "And run's options: -n (default here: a rank for each core), -H, --hostfile,\n"
              "--backend and all others (mlaunch --help).",
    .own = bench_options_table,
    .borrows_all = true,
    .hints = hints,
    .words = COMMAND_MIXED,
    .words_most = SIZE_MAX};

/* True if `words` ask for the operation link, whose --verbose is not run's. */
static bool is_link(char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(*words, bench_options_kind_name(BENCH_LINK)) == 0)
            return true;
    return false;
}

int bench_command_read(struct command_line *out, struct bench_reading *r, int argc,
                       char *const *argv, struct fault *why)
{
    static struct option rows[BENCH_OPTIONS + 1];
    static struct command_syntax here;

    memcpy(rows, bench_options_table, sizeof(rows));
    if (!is_link(argv + 1))
        rows[BENCH_OPTIONS - 1] = (struct option){0};
    here = syntax;
    here.own = rows;
    bench_options_begin(r);
    return command_line_read(out, &here, r, argc - 1, argv + 1, why);
}

/* How many ranks measure if nothing says how many: one for each core that this process may use, and
 * two at least; two where only two take part. */
static int ranks_usual(const struct bench_options *o)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;

    if (o->kind == BENCH_LAT || o->kind == BENCH_BW || o->kind == BENCH_TRANSFER ||
        bench_options_kind_is_one_sided(o->kind))
        return 2;
    return cores > 2 ? cores : 2;
}

/* Adds words up to a NULL. */
static int words_add(struct string_list *l, const char *const *words, struct fault *why)
{
    return string_list_add_all(l, (char *const *)words, why);
}

/* Only rank 0 prints, for people and programs, so the output has no labels unless asked for. */
static int words_begin(struct string_list *job, const char *mlaunch, const struct bench_options *o,
                       struct fault *why)
{
    char ranks[16];
    int rc;

    snprintf(ranks, sizeof(ranks), "%d", ranks_usual(o));
    rc = words_add(job, (const char *const[]){mlaunch, "bench-job", ranks, NULL}, why);
    if (!rc && o->plot)
        rc = words_add(job, (const char *const[]){"--plot", o->plot, NULL}, why);
    if (!rc && o->save)
        rc = words_add(job, (const char *const[]){"--save", o->save, NULL}, why);
    if (rc)
        return rc;
    return words_add(job, (const char *const[]){"run", "--output", "raw", "--stdin", "none", NULL},
                     why);
}

/* Ranks that wait while a pair measures for long have not stalled. */
static int link_words_add(struct string_list *run, const struct bench_options *o, struct fault *why)
{
    char text[64];

    if (o->duration_s <= LONG_S || getenv("MLAUNCH_STALL"))
        return 0;
    snprintf(text, sizeof(text), "MLAUNCH_STALL=%d", (int)(o->duration_s * LINK_WAYS) + 30);
    return words_add(run, (const char *const[]){"-x", text, NULL}, why);
}

/* True if what rank 0 prints reaches a terminal that has colours. */
static bool has_colours(void)
{
    const char *terminal = getenv("TERM"), *refused = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(refused && *refused) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

/* What the program of rank 0 cannot find out itself, because its output is a pipe. */
static int terminal_words_add(struct string_list *run, const struct bench_options *o,
                              struct fault *why)
{
    struct winsize w = {0};
    char columns[16];
    int rc = has_colours() ? string_list_add(run, "--colour", why) : 0;

    if (rc || o->is_wide || !isatty(STDOUT_FILENO))
        return rc;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col)
        w.ws_col = COLUMNS_USUAL;
    snprintf(columns, sizeof(columns), "%d", w.ws_col);
    return words_add(run, (const char *const[]){"--columns", columns, NULL}, why);
}

/* The job's words, when those of run and of bench are known. */
static int words_join(char ***out, const char *mlaunch, const struct command_line *line,
                      const struct bench_options *o, struct fault *why)
{
    struct string_list job = {0};
    int rc = words_begin(&job, mlaunch, o, why);

    if (!rc)
        rc = string_list_add_all(&job, line->borrowed.items, why);
    if (!rc && o->kind == BENCH_LINK)
        rc = link_words_add(&job, o, why);
    if (!rc)
        rc = words_add(&job, (const char *const[]){"--", BENCH_PROGRAM, NULL}, why);
    if (!rc)
        rc = string_list_add_all(&job, line->words.items, why);
    if (!rc)
        rc = string_list_add_all(&job, line->own.items, why);
    if (!rc && o->kind == BENCH_LINK)
        rc = terminal_words_add(&job, o, why);
    if (!rc)
        rc = string_list_release(&job, out, why);
    string_list_clear(&job);
    return rc;
}

int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why)
{
    struct command_line line = {0};
    struct bench_reading r;
    int rc = bench_command_read(&line, &r, argc, argv, why);

    if (!rc && command_line_value(&line, "runs"))
        rc = fault_set(why, ML_ERR_ARGUMENT, "--runs is how often --vary measures: give both");
    if (!rc)
        rc = bench_options_end(&r, &line.words, why);
    if (!rc)
        rc = words_join(out, argv[0], &line, &r.options, why);
    command_line_clear(&line);
    return rc;
}

void bench_command_print_help(void)
{
    command_syntax_print_help(&syntax);
}
