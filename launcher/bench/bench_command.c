/* SPDX-License-Identifier: MIT */
#include "launcher/bench/bench_command.h"

#include "launcher/bench/bench_options.h"
#include "launcher/options/option_table.h"
#include "launcher/process/install_path.h"
#include "launcher/text/string_list.h"

#include <stdio.h>
#include <string.h>

/* True if the next word is the value of run's option `word`. Unknown options are left to the reader
 * of run's options, which refuses them. */
static bool run_takes_value(const char *word)
{
    const struct option *option;

    if (strcmp(word, "-np") == 0)
        return true;
    if (word[1] == '-') {
        option = strchr(word, '=') ? NULL : option_table_find(word + 2);
        return option && option->argument;
    }
    for (const char *c = word + 1; *c; c++) {
        option = option_table_find_letter(*c);
        if (!option || option->argument)
            return option && !c[1];
    }
    return false;
}

/* Sorts the words into those of bench and those of run. */
static int words_sort(struct string_list *run, struct string_list *bench, char *const *words,
                      struct fault *why)
{
    int rc = 0;

    while (*words && !rc) {
        const char *word = *words++;
        bool takes_value = false;
        bool is_bench = word[0] != '-' || bench_options_has(word, &takes_value);
        struct string_list *to = is_bench ? bench : run;

        if (is_bench)
            takes_value = takes_value && !strchr(word, '=');
        else
            takes_value = run_takes_value(word);
        rc = string_list_add(to, word, why);
        if (!rc && takes_value && *words)
            rc = string_list_add(to, *words++, why);
    }
    return rc;
}

/* Only rank 0 prints, for people and programs, so the output has no labels unless asked for. */
static int words_begin(struct string_list *run, const char *mlaunch, struct fault *why)
{
    const char *const first[] = {mlaunch, "run", "--output", "raw", "--stdin", "none"};
    int rc = 0;

    for (size_t i = 0; i < sizeof(first) / sizeof(*first) && !rc; i++)
        rc = string_list_add(run, first[i], why);
    return rc;
}

int bench_command_words(char ***out, int argc, char *const *argv, struct fault *why)
{
    struct string_list run = {0}, bench = {0};
    struct bench_options checked;
    char **words = NULL;
    int rc = words_begin(&run, argv[0], why);

    if (!rc)
        rc = words_sort(&run, &bench, argv + (argc < 2 ? argc : 2), why);
    if (!rc)
        rc = string_list_release(&bench, &words, why); /* an array even if there are no words */
    if (!rc)
        rc = bench_options_parse(&checked, words, why);
    if (!rc)
        rc = string_list_add(&run, "--", why);
    if (!rc)
        rc = string_list_add(&run, BENCH_PROGRAM, why);
    if (!rc)
        rc = string_list_add_all(&run, words, why);
    if (!rc)
        rc = string_list_release(&run, out, why);
    string_list_clear(&run);
    string_list_clear(&bench);
    strings_free(words);
    return rc;
}

void bench_command_print_help(void)
{
    puts(
        "usage: mlaunch bench [OPERATION] [OPTIONS]\n"
        "\n"
        "Measures one operation over a range of sizes, as the tests of NCCL and OSU do. OPERATION: "
        "all_reduce\n"
        "(default), all_gather, reduce_scatter, reduce, all_to_all, broadcast, barrier, "
        "sendrecv, lat,\nbw.\n"
        "\n"
        "  -b SIZE, -e SIZE, -f N      from -b (8) to -e (64M), each N (2) times the one before\n"
        "      --sizes LIST            these sizes: 8,1024,64K\n"
        "      --type TYPE             float32, float16, bfloat16, int32, ... (default: float32)\n"
        "      --op OP                 sum, prod, min, max, and, or, xor (default: sum)\n"
        "      --memory plain|alloc    buffers of malloc or of ml_alloc (default: plain)\n"
        "      --check                 compare the results with the right ones; status 1 if they "
        "differ\n"
        "      --csv, --json           for programs\n"
        "      --stress ROUNDS         ROUNDS iterations a size, each printed, outliers flagged\n"
        "      --plot FILE.svg         a picture too, on rank 0's host\n"
        "      --tune                  every algorithm of the operation at every size, and where "
        "each is the fastest\n"
        "      --save FILE             write it for mlaunch --tuning FILE\n"
        "\n"
        "And run's options: -n, -H, --hostfile, --backend and all others (mlaunch --help).");
}
