/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/batch_options.h"

#include "common/text/number.h"
#include "launcher/base/text/text_file.h"
#include "launcher/commands/batch/batch_time.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/option_table.h"
#include "launcher/input/options/options_load.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_LIMIT = 1 << 20 };

struct batch_reader {
    struct batch_options *out;
    char *const *argv;
    int argc, at; /* argv[at] is next */
};

struct batch_option {
    const char *name, *argument, *help; /* no argument: a flag */
    int (*set)(struct batch_options *b, const struct batch_option *spec, const char *value,
               struct fault *why);
    size_t field;
    char letter; /* sbatch's, for a script for Slurm; or 0 */
};

static int set_count(struct batch_options *b, const struct batch_option *spec, const char *value,
                     struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t n;

    if (!number_parse(value, 1, COUNT_LIMIT, &n))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a whole number from 1 to %d",
                         text_show(shown, value), COUNT_LIMIT);
    *(int *)((char *)b + spec->field) = (int)n;
    return 0;
}

static int set_time(struct batch_options *b, const struct batch_option *spec, const char *value,
                    struct fault *why)
{
    (void)spec;
    return batch_time_parse(&b->time_s, value, why);
}

/* Batch systems parse their lines differently; these characters mean the same to all. */
static int set_plain(struct batch_options *b, const struct batch_option *spec, const char *value,
                     struct fault *why)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:@%^$/[]~";
    char **field = (char **)((char *)b + spec->field), *copy = NULL;
    char shown[TEXT_SHOWN];
    int rc;

    if (!*value || *value == '-' || value[strspn(value, plain)])
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s': in a job script's head only letters, digits and _-+=.,:@%%^$/[]~ "
                         "mean the same to every batch system",
                         text_show(shown, value));
    rc = string_copy(&copy, value, why);
    if (rc)
        return rc;
    free(*field);
    *field = copy;
    return 0;
}

static int set_path(struct batch_options *b, const struct batch_option *spec, const char *value,
                    struct fault *why)
{
    (void)spec;
    if (!*value)
        return fault_set(why, ML_ERR_ARGUMENT, "the value is empty");
    free(b->file);
    b->file = NULL;
    return string_copy(&b->file, value, why);
}

static int extra_add(struct batch_options *b, const struct batch_option *spec, const char *value,
                     struct fault *why)
{
    char shown[TEXT_SHOWN];

    (void)spec;
    for (const char *c = value; *c; c++)
        if (iscntrl((unsigned char)*c))
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' contains a control character",
                             text_show(shown, value));
    return string_list_add(&b->extra, value, why);
}

static int set_flag(struct batch_options *b, const struct batch_option *spec, const char *value,
                    struct fault *why)
{
    (void)value;
    (void)why;
    *(bool *)((char *)b + spec->field) = true;
    return 0;
}

#define OF(member) offsetof(struct batch_options, member)

/* clang-format off */
static const struct batch_option table[] = {
    {"nodes", "N", "hosts", set_count, OF(nodes), 'N'},
    {"ntasks", "N", "slots in all (default: -n)", set_count, OF(ntasks), 0},
    {"ntasks-per-node", "N", "slots on each host", set_count, OF(ntasks_per_node), 0},
    {"time", "T", "limit: 90 (minutes), 1:30:00, 2-12:00", set_time, 0, 't'},
    {"partition", "P", "partition or queue", set_plain, OF(partition), 'p'},
    {"account", "A", "account or project", set_plain, OF(account), 'A'},
    {"job-name", "J", "the job's name (default: the program's)", set_plain, OF(job_name), 'J'},
    {"output", "F",
     "the job's output file, named as the system allows", set_plain, OF(output), 0},
    {"pe", "NAME", "SGE's parallel environment (mpi)", set_plain, OF(pe), 0},
    {"extra", "'...'", "any other options of the system, as they stand; repeats", extra_add, 0, 0},
    {"submit", NULL, "submit the script, print the job's number", set_flag, OF(submit), 0},
    {"help", NULL, "print this", set_flag, OF(help), 0},
};
static const struct batch_option to_file = {"o", "FILE",
     "write the script there, not to stdout", set_path, 0, 'o'};
/* clang-format on */

enum { TABLE = sizeof(table) / sizeof(*table) };

static const struct batch_option *option_of(const char *word, enum batch_system system)
{
    size_t length = strcspn(word, "=");

    if (strncmp(word, "-o", 2) == 0 && word[2] != '-')
        return &to_file;
    if (strcmp(word, "-h") == 0)
        word = "--help", length = strlen(word);
    for (size_t i = 0; i < TABLE && system == BATCH_SLURM; i++)
        if (table[i].letter && table[i].letter == word[1])
            return &table[i];
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i < TABLE; i++)
        if (strlen(table[i].name) == length - 2 &&
            strncmp(table[i].name, word + 2, length - 2) == 0)
            return &table[i];
    return NULL;
}

static int own_read(struct batch_reader *r, const struct batch_option *spec, struct fault *why)
{
    const char *word = r->argv[r->at++], *equals = strchr(word, '='), *value = NULL;
    int rc;

    if (word[1] != '-' && spec->argument && word[2])
        value = word + 2;
    else if (word[1] == '-' && equals)
        value = equals + 1;
    else if (spec->argument && r->at < r->argc)
        value = r->argv[r->at++];
    if (spec->argument && !value)
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value: %s %s", word, word,
                         spec->argument);
    rc = spec->set(r->out, spec, value, why);
    return rc ? fault_wrap(why, "%s%s", spec == &to_file ? "-" : "--", spec->name) : 0;
}

/* An unknown word that is nearer to an option of batch than to any of run's. */
static int slip_refuse(const char *word, struct fault *why)
{
    char name[TEXT_SHOWN];
    struct nearest n = {.typed = name}, run = {.typed = name};

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; i < TABLE; i++)
        nearest_offer(&n, table[i].name);
    option_table_offer(&run);
    if (!nearest_slip(&n) || run.distance < n.distance)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "unknown option --%s; did you mean --%s?", name, n.best);
}

/* Takes an option of run and its value. run_check() finds mistakes in them. */
static int run_read(struct batch_reader *r, struct fault *why)
{
    const char *word = r->argv[r->at++];
    int values = command_line_arguments(word, r->at < r->argc ? r->argv[r->at] : NULL);
    int rc = string_list_add(&r->out->words, word, why);

    if (!rc && values < 0 && word[1] == '-')
        rc = slip_refuse(word, why);
    for (; !rc && values > 0 && r->at < r->argc; values--)
        rc = string_list_add(&r->out->words, r->argv[r->at++], why);
    return rc;
}

static int args_parse(struct batch_reader *r, struct fault *why)
{
    struct string_list *words = &r->out->words;
    int rc = 0;

    while (!rc && r->at < r->argc && r->argv[r->at][0] == '-' && r->argv[r->at][1] &&
           strcmp(r->argv[r->at], "--") != 0) {
        const struct batch_option *spec = option_of(r->argv[r->at], r->out->system);

        rc = spec ? own_read(r, spec, why) : run_read(r, why);
    }
    if (!rc && r->at < r->argc && strcmp(r->argv[r->at], "run") == 0)
        r->at++;
    for (; !rc && r->at < r->argc; r->at++)
        rc = string_list_add(words, r->argv[r->at], why);
    return rc;
}

static int system_read(struct batch_reader *r, struct fault *why)
{
    static const char *const names[] = {"slurm", "pbs", "lsf", "sge"};
    const char *word = r->argc > 1 ? r->argv[1] : "";
    char shown[TEXT_SHOWN];

    r->at = 2;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        r->out->help = true;
        return 0;
    }
    for (int i = 0; i < 4; i++)
        if (strcmp(word, names[i]) == 0) {
            r->out->system = (enum batch_system)i;
            return 0;
        }
    if (!*word)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "no batch system given: mlaunch batch slurm|pbs|lsf|sge [OPTIONS] PROGRAM "
                         "[ARG...]");
    return fault_set(why, ML_ERR_ARGUMENT, "unknown batch system '%s': use slurm, pbs, lsf or sge",
                     text_show(shown, word));
}

/* Names the job as its program, in characters that every batch system accepts. */
static int job_name_set(struct batch_options *b, const char *program, struct fault *why)
{
    const char *slash = strrchr(program, '/');
    int rc;

    if (b->job_name)
        return 0;
    rc = string_copy(&b->job_name, slash && slash[1] ? slash + 1 : program, why);
    for (char *c = b->job_name; !rc && *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '_';
    if (!rc && !isalpha((unsigned char)*b->job_name)) /* PBS and SGE require a letter first */
        *b->job_name = 'j';
    return rc;
}

/* The option may have been meant for batch. */
static void unknown_explain(struct fault *why)
{
    struct fault was = *why;

    fault_set(why, was.code,
              "%s; mlaunch batch --help lists those of batch, and --extra passes others on",
              was.text);
}

/* Checks the words of run as mlaunch will check them inside the job. */
static int run_check(struct batch_options *b, struct fault *why)
{
    struct options_source from = {0, NULL, environ, NULL, NULL};
    struct string_list words = {0};
    struct options *o = NULL;
    int rc = string_list_add(&words, "mlaunch", why), np = 0;

    if (!rc)
        rc = string_list_add(&words, "run", why);
    if (!rc)
        rc = string_list_add_all(&words, b->words.items, why);
    from.argc = (int)words.count;
    from.argv = words.items;
    if (!rc)
        rc = options_load_from(&o, &from, why);
    if (rc && strstr(why->text, "unknown option"))
        unknown_explain(why);
    if (!rc && o->action != OPTIONS_RUN)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--help and --version start no job");
    for (int i = 0; !rc && i < o->app_count; i++)
        np += o->apps[i].np;
    if (!rc && !b->ntasks && !b->nodes && !b->ntasks_per_node)
        b->ntasks = np;
    if (!rc)
        rc = job_name_set(b, o->apps[0].argv[0], why);
    options_destroy(o);
    string_list_clear(&words);
    return rc;
}

static int counts_check(const struct batch_options *b, struct fault *why)
{
    if (b->system == BATCH_SGE && (b->nodes || b->ntasks_per_node))
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "the parallel environment of SGE decides how many slots each host gives: use "
            "--ntasks, and --pe for an environment that fits");
    if (b->system != BATCH_SGE && b->pe)
        return fault_set(why, ML_ERR_ARGUMENT, "--pe: only SGE has parallel environments");
    if (b->nodes && b->ntasks && b->ntasks < b->nodes)
        return fault_set(why, ML_ERR_ARGUMENT, "--ntasks %d is less than --nodes %d", b->ntasks,
                         b->nodes);
    if (b->nodes && b->ntasks && b->ntasks_per_node &&
        b->ntasks > (int64_t)b->nodes * b->ntasks_per_node)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--ntasks %d is more than --nodes %d times --ntasks-per-node %d",
                         b->ntasks, b->nodes, b->ntasks_per_node);
    return 0;
}

int batch_options_parse(struct batch_options *out, int argc, char *const *argv, struct fault *why)
{
    struct batch_reader r = {out, argv, argc, 0};
    int rc;

    *out = (struct batch_options){0};
    rc = system_read(&r, why);
    if (!rc && !out->help)
        rc = args_parse(&r, why);
    if (rc || out->help)
        return rc;
    rc = run_check(out, why);
    return rc ? rc : counts_check(out, why);
}

void batch_options_clear(struct batch_options *b)
{
    free(b->partition);
    free(b->account);
    free(b->job_name);
    free(b->output);
    free(b->pe);
    free(b->file);
    string_list_clear(&b->extra);
    string_list_clear(&b->words);
}

void batch_options_print_help(void)
{
    puts("usage: mlaunch batch slurm|pbs|lsf|sge [OPTIONS]\n"
         "                     [run] [OPTIONS OF RUN] [--] PROGRAM [ARG...]\n"
         "\n"
         "Writes a job script that starts PROGRAM with mlaunch on the hosts of the\n"
         "allocation.\n");
    for (size_t i = 0; i < TABLE; i++)
        printf("  --%s %-*s %s\n", table[i].name, 18 - (int)strlen(table[i].name),
               table[i].argument ? table[i].argument : "", table[i].help);
    printf("  -o %-18s %s\n", to_file.argument, to_file.help);
    puts("\n"
         "For Slurm sbatch's -N, -t, -p, -A and -J are understood, too. After the word\n"
         "run all options are those of run, --output too. See mlaunch-batch(1).");
}
