/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/command/bench_command.h"

#include "launcher/base/process/install_path.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/option_table.h"
#include "launcher/tools/bench/command/bench_options.h"

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

/* For an option that neither has: a slip of one of bench's is refused here, as run's reader would
 * offer one of its own. */
static int unknown_check(const char *word, struct fault *why)
{
    char shown[TEXT_SHOWN];
    struct nearest run = {.typed = shown + 2};
    const char *near;

    snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(word, "="), word);
    near = word[1] == '-' ? bench_options_nearest(shown) : NULL;
    if (!near)
        return 0;
    option_table_offer(&run);
    if (run.distance < nearest_distance(near, shown))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; did you mean %s?", shown, near);
}

/* Sets the message for an option that neither has. */
static void unknown_refuse(const char *word, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (word[1] == '-')
        option_table_unknown(word + 2, "--", why);
    else
        fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; see mlaunch bench --help",
                  text_show(shown, word));
}

/* True if `words` ask for the operation link, whose --verbose is not run's. */
static bool is_link(char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(*words, bench_options_kind_name(BENCH_LINK)) == 0)
            return true;
    return false;
}

/* Sorts the words into those of bench and those of run. *unknown: the first option that neither
 * has, or NULL. */
static int words_sort(struct string_list *run, struct string_list *bench, char *const *words,
                      const char **unknown, struct fault *why)
{
    bool has_verbose = is_link(words);
    int rc = 0;

    while (*words && !rc) {
        const char *word = *words++;
        bool takes_value = false;
        bool is_bench = (has_verbose || strcmp(word, "--verbose") != 0) &&
                        (word[0] != '-' || bench_options_has(word, &takes_value));
        struct string_list *to = is_bench ? bench : run;
        int values =
            is_bench ? takes_value && !strchr(word, '=') : command_line_arguments(word, *words);

        /* NCCL's tests: rounds to warm up. Not a list of hosts here, as srun has it. */
        if (strcmp(word, "-w") == 0)
            values = -1;
        if (values < 0) {
            rc = unknown_check(word, why);
            *unknown = *unknown ? *unknown : word;
        }
        if (!rc)
            rc = string_list_add(to, word, why);
        for (; !rc && values > 0 && *words; values--)
            rc = string_list_add(to, *words++, why);
    }
    return rc;
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

static int file_add(struct string_list *job, const char *option, const char *path,
                    struct fault *why)
{
    int rc = path ? string_list_add(job, option, why) : 0;

    return rc || !path ? rc : string_list_add(job, path, why);
}

/* Only rank 0 prints, for people and programs, so the output has no labels unless asked for. */
static int words_begin(struct string_list *job, const char *mlaunch, const struct bench_options *o,
                       struct fault *why)
{
    static const char *const last[] = {"run", "--output", "raw", "--stdin", "none"};
    char ranks[16];
    int rc = string_list_add(job, mlaunch, why);

    snprintf(ranks, sizeof(ranks), "%d", ranks_usual(o));
    if (!rc)
        rc = string_list_add(job, "bench-job", why);
    if (!rc)
        rc = string_list_add(job, ranks, why);
    if (!rc)
        rc = file_add(job, "--plot", o->plot, why);
    if (!rc)
        rc = file_add(job, "--save", o->save, why);
    for (size_t i = 0; i < sizeof(last) / sizeof(*last) && !rc; i++)
        rc = string_list_add(job, last[i], why);
    return rc;
}

/* Ranks that wait while a pair measures for long have not stalled. */
static int link_words_add(struct string_list *run, const struct bench_options *o, struct fault *why)
{
    char text[64];
    int rc = 0;

    if (o->duration_s > LONG_S && !getenv("MLAUNCH_STALL")) {
        snprintf(text, sizeof(text), "MLAUNCH_STALL=%d", (int)(o->duration_s * LINK_WAYS) + 30);
        rc = string_list_add(run, "-x", why);
        if (!rc)
            rc = string_list_add(run, text, why);
    }
    return rc;
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
    rc = string_list_add(run, "--columns", why);
    return rc ? rc : string_list_add(run, columns, why);
}

/* The job's words, when those of run and of bench are known. */
static int words_join(char ***out, const char *mlaunch, char *const *run, char *const *bench,
                      const struct bench_options *o, struct fault *why)
{
    struct string_list job = {0};
    int rc = words_begin(&job, mlaunch, o, why);

    if (!rc)
        rc = string_list_add_all(&job, run, why);
    if (!rc && o->kind == BENCH_LINK)
        rc = link_words_add(&job, o, why);
    if (!rc)
        rc = string_list_add(&job, "--", why);
    if (!rc)
        rc = string_list_add(&job, BENCH_PROGRAM, why);
    if (!rc)
        rc = string_list_add_all(&job, bench, why);
    if (!rc && o->kind == BENCH_LINK)
        rc = terminal_words_add(&job, o, why);
    if (!rc)
        rc = string_list_release(&job, out, why);
    string_list_clear(&job);
    return rc;
}

int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why)
{
    struct string_list run = {0}, bench = {0};
    struct bench_options checked = {0};
    const char *unknown = NULL;
    char **words = NULL;
    int rc = words_sort(&run, &bench, argv + (argc < 2 ? argc : 2), &unknown, why);

    if (!rc)
        rc = string_list_release(&bench, &words, why); /* an array even if there are no words */
    if (!rc)
        rc = bench_options_parse(&checked, words, why);
    /* The value of an unknown option is no operation. */
    if (rc == ML_ERR_ARGUMENT && words && unknown)
        unknown_refuse(unknown, why);
    if (!rc)
        rc = words_join(out, argv[0], run.items, words, &checked, why);
    string_list_clear(&run);
    string_list_clear(&bench);
    strings_free(words);
    return rc;
}

void bench_command_print_help(void)
{
    puts("usage: mlaunch bench [OPERATION] [OPTIONS]\n"
         "\n"
         "Measures one operation over a range of sizes, as the tests of NCCL and OSU do.\n"
         "OPERATION: all_reduce (default), all_gather, reduce_scatter, reduce, gather,\n"
         "scatter, all_to_all, broadcast, barrier, sendrecv, lat, bw; put, get and atomic,\n"
         "by rank 0 in rank 1's memory; transfer, tensors from a producer to a consumer;\n"
         "or link, the way between each pair of hosts (or of ranks of one host).\n"
         "\n"
         "  -b SIZE, -e SIZE, -f N    from -b (8) to -e (64M), each N (2) times the one\n"
         "                            before\n"
         "      --sizes LIST          these sizes: 8,1024,64K\n"
         "  -d, --type TYPE           float32 (default), float16, bfloat16, int32, ...\n"
         "  -o, --op OP               sum (default), prod, min, max, and, or, xor\n"
         "      --memory plain|alloc  buffers of malloc (default) or of ml_alloc\n"
         "      --check               compare the results with the right ones; status 1 if\n"
         "                            they differ; of transfer md5 (default) or none\n"
         "      --mode copy|zerocopy  transfer: from the program's own memory (default) or\n"
         "                            from the pool's\n"
         "      --count N             transfer: N of each size (default 3)\n"
         "      --csv, --json         for programs\n"
         "      --stress ROUNDS       ROUNDS iterations a size, each printed, outliers\n"
         "                            flagged\n"
         "      --plot FILE.svg       a picture too, on rank 0's host\n"
         "      --svg FILE.svg        the same; of link a picture of all pairs\n"
         "      --rounds N            link: N rounds for each pair and size\n"
         "      --verbose             link: print every round\n"
         "      --wide                link: all columns, also on a narrow terminal\n"
         "      --duration SECONDS    link: of each of a round's four parts (default 0.1)\n"
         "      --no-check            link, transfer: do not check what arrives\n"
         "      --tune                every algorithm of the operation at every size, and\n"
         "                            where each is the fastest\n"
         "      --save FILE           write that for mlaunch --tuning FILE\n"
         "      --vary 'SETTINGS'     measure with each in turns, and say what is more\n"
         "                            than noise: 'MLAUNCH_ALGO=a|b', '-x FLAG=1|'\n"
         "      --runs N              how often each (default 5, the fewest)\n"
         "      --compare A B         no measurement: two files of --json side by side;\n"
         "                            status 1 if B is slower by more than noise\n"
         "\n"
         "And run's options: -n (default here: a rank for each core), -H, --hostfile,\n"
         "--backend and all others (mlaunch --help).");
}
