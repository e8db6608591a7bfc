/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/batch_options.h"

#include "common/text/number.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/joining.h"
#include "launcher/input/options/option_value.h"
#include "launcher/input/options/options_load.h"

#include <ctype.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COUNT_LIMIT = 1 << 20,
    PARTS = 3,
    PART_LIMIT = 1000000,
    STOP_BEFORE_S = 60,
    STOP_LIMIT_S = 65535, /* Slurm's */
    NAME_MOST = 52,       /* characters: a pod's name has the index and a suffix, too */
};

/* Parses the numbers between the colons. Returns how many there are; 0: one is malformed. Changes
 * `text`. */
static int parts_read(int64_t parts[PARTS], char *text)
{
    int n = 0;
    char *part;

    while ((part = strsep(&text, ":"))) {
        if (n == PARTS || !number_parse(part, 0, PART_LIMIT, &parts[n]))
            return 0;
        n++;
    }
    return n;
}

/* "90s", "15m", "2h", "1d", as --timeout has them. */
static bool unit_parse(int64_t *seconds, const char *text)
{
    static const char units[] = "smhd";
    static const int64_t lengths[] = {1, 60, 3600, 86400};
    size_t length = strlen(text);
    const char *unit = length > 1 ? strchr(units, text[length - 1]) : NULL;
    char number[16];

    if (!unit || length > sizeof(number))
        return false;
    snprintf(number, sizeof(number), "%.*s", (int)(length - 1), text);
    if (!number_parse(number, 1, PART_LIMIT, seconds))
        return false;
    *seconds *= lengths[unit - units];
    return true;
}

static bool time_parse(int64_t *seconds, char *text)
{
    static const int64_t plain[PARTS][PARTS] = {{60}, {60, 1}, {3600, 60, 1}};
    static const int64_t behind_days[PARTS] = {3600, 60, 1};
    char *dash = strchr(text, '-');
    int64_t parts[PARTS] = {0}, days = 0;
    const int64_t *units;
    int n;

    if (dash) {
        *dash = '\0';
        if (!number_parse(text, 0, PART_LIMIT, &days))
            return false;
        text = dash + 1;
    }
    n = parts_read(parts, text);
    if (n == 0)
        return false;
    units = dash ? behind_days : plain[n - 1];
    *seconds = days * 86400;
    for (int i = 0; i < n; i++)
        *seconds += parts[i] * units[i];
    return *seconds > 0;
}

/* With a unit, or in the forms of Slurm: MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS,
 * DAYS-HOURS, DAYS-HOURS:MINUTES, DAYS-HOURS:MINUTES:SECONDS. */
static int set_time(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct batch_options *b = to;
    char copy[64], shown[TEXT_SHOWN];

    (void)spec;
    snprintf(copy, sizeof(copy), "%s", value);
    if (strlen(value) >= sizeof(copy) ||
        (!unit_parse(&b->time_s, value) && !time_parse(&b->time_s, copy)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not a time limit such as 90 (minutes), 90s, 2h, 1:30:00 or "
                         "2-12:00",
                         text_show(shown, value));
    return 0;
}

/* Batch systems parse their lines differently; these characters mean the same to all. */
static int plain_check(const char *value, struct fault *why)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:@%^$/[]~";
    char shown[TEXT_SHOWN];

    if (*value != '-' && !value[strspn(value, plain)])
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "'%s': in a job script's head only letters, digits and _-+=.,:@%%^$/[]~ "
                     "mean the same to every batch system",
                     text_show(shown, value));
}

static int extra_check(const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (const char *c = value; *c; c++)
        if (iscntrl((unsigned char)*c))
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' contains a control character",
                             text_show(shown, value));
    return 0;
}

/* An option of sbatch that goes into the script as it stands. */
static int set_sbatch(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct batch_options *b = to;
    bool has_value = value && value != spec->otherwise;
    char *line = NULL;
    int rc;

    if (b->system != BATCH_SLURM)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "only sbatch has this option; --extra '...' passes on an option of the "
                         "system that you have named, as it stands");
    rc = has_value ? plain_check(value, why) : 0;
    if (!rc)
        rc = string_format(&line, why, "--%s%s%s", spec->name, has_value ? "=" : "",
                           has_value ? value : "");
    if (!rc)
        rc = string_list_add(&b->extra, line, why);
    free(line);
    return rc;
}

/* For Kubernetes a number of NVIDIA's. */
static int set_gpus(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct batch_options *b = to;
    char shown[TEXT_SHOWN];
    int64_t gpus;

    if (b->system != BATCH_KUBERNETES)
        return set_sbatch(to, spec, value, why);
    if (!number_parse(value, 1, COUNT_LIMIT, &gpus))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is no number of GPUs; --resource NAME=N asks "
                         "for others than NVIDIA's",
                         text_show(shown, value));
    b->gpus = (int)gpus;
    return 0;
}

static int resource_check(const char *value, struct fault *why)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./";
    size_t length = strspn(value, plain);
    char shown[TEXT_SHOWN];
    int64_t count;

    if (length > 0 && length < BATCH_RESOURCE && value[length] == '=' &&
        number_parse(value + length + 1, 1, COUNT_LIMIT, &count))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not NAME=N, as rdma/hca=1",
                     text_show(shown, value));
}

#define OF(member)    .field = offsetof(struct batch_options, member)
#define COUNT(member) .set = option_value_number, .min = 1, .max = COUNT_LIMIT, OF(member)
#define TEXT(member)  .set = option_value_text, .is_text = true, OF(member)
#define PLAIN(member) TEXT(member), .check = plain_check
#define RESOURCES     .set = option_value_list, .check = resource_check, OF(resources)
/* Not in --help: there are many, and who uses Slurm knows them. */
#define SBATCH(name)                                                                               \
    {                                                                                              \
        name, NULL, 0, "VALUE", "", .set = set_sbatch                                              \
    }

static const struct named_value kinds[] = {
    {"job", BATCH_KIND_JOB}, {"compose", BATCH_KIND_COMPOSE}, {NULL, 0}};
static const struct named_value exclusives[] = {{"user", 0}, {"mcs", 0}, {NULL, 0}};

/* clang-format off */
static const struct option own[] = {
    {"nodes", NULL, 'N', "N", "hosts", COUNT(nodes)},
    {"ntasks", NULL, 0, "N", "slots in all (default: -n)", COUNT(ntasks)},
    {"ntasks-per-node", NULL, 0, "N", "slots on each host", COUNT(ntasks_per_node)},
    {"time", NULL, 't', "T", "limit: 90 (minutes), 2h, 1:30:00, 2-12:00", .set = set_time},
    {"stop-before", NULL, 0, "SECS", "how long before the limit --stop-signal comes (60)",
     .set = option_value_number, .min = 1, .max = STOP_LIMIT_S, OF(stop_before_s)},
    {"partition", NULL, 'p', "P", "partition or queue", PLAIN(partition)},
    {"account", NULL, 'A', "A", "account or project", PLAIN(account)},
    {"job-name", NULL, 'J', "J", "the job's name (default: the program's)", PLAIN(job_name)},
    {"output", NULL, 0, "F", "the job's output file, named as the system allows", PLAIN(output)},
    {"pe", NULL, 0, "NAME", "SGE's parallel environment (mpi)", PLAIN(pe)},
    {"extra", NULL, 0, "'...'", "any other options of the system, as they stand; repeats",
     .set = option_value_list, .check = extra_check, OF(extra)},
    {"image", NULL, 0, "IMAGE", "Kubernetes: the image, which has mlaunch", TEXT(image)},
    {"kind", NULL, 0, "job|compose", "Kubernetes: its Job, or the same for docker compose",
     .set = option_value_choice, .choices = kinds, OF(kind)},
    {"resource", NULL, 0, "NAME=N", "Kubernetes: what each host gets, as rdma/hca=1; repeats",
     RESOURCES},
    {"submit", NULL, 0, NULL, "submit the script, print the job's number",
     .set = option_value_flag, OF(submit)},
    {NULL, NULL, 'o', "FILE", "write the script there, not to stdout", TEXT(file)},
    SBATCH("array"), SBATCH("begin"), SBATCH("comment"), SBATCH("constraint"),
    SBATCH("cpus-per-task"), SBATCH("dependency"), SBATCH("error"), SBATCH("exclude"),
    SBATCH("gpus"), SBATCH("gpus-per-task"), SBATCH("gres"),
    SBATCH("licenses"), SBATCH("mail-type"), SBATCH("mail-user"), SBATCH("mem"),
    SBATCH("mem-per-cpu"), SBATCH("mem-per-gpu"), SBATCH("nodelist"), SBATCH("qos"),
    SBATCH("reservation"), SBATCH("signal"),
    {"gpus-per-node", NULL, 0, "VALUE", "", .set = set_gpus},
    {"exclusive", NULL, 0, "user|mcs", "", .set = set_sbatch, .choices = exclusives,
     .otherwise = "yes"},
    {"requeue", NULL, 0, NULL, "", .set = set_sbatch},
    {"no-requeue", NULL, 0, NULL, "", .set = set_sbatch},
    {0}};
/* clang-format on */

enum { OWN = sizeof(own) / sizeof(*own) };

static const struct command_syntax syntax = {
    .name = "batch",
    .usage = "usage: mlaunch batch slurm|pbs|lsf|sge|kubernetes [OPTIONS]\n"
             "                     [run] [OPTIONS OF RUN] [--] PROGRAM [ARG...]\n"
             "\n"
             "Writes a job script that starts PROGRAM with mlaunch on the hosts of the\n"
             "allocation.",
    .ending = "-N, -t, -p, -A and -J are sbatch's, for Slurm alone, as are --mem, --gres,\n"
              "--array and others, which go into the script as they stand. After the word run\n"
              "all options are those of run, --output too. See mlaunch-batch(1).",
    .own = own,
    .borrows_all = true,
    .unknown = ", --extra passes others on",
    .words = COMMAND_REST};

/* Reads what follows the system's name. Options of run are kept, with all that follows them. */
static int line_read(struct batch_options *b, int argc, char *const *argv, struct fault *why)
{
    struct command_syntax here = syntax;
    struct option letters[OWN];
    struct command_line line = {0};
    int rc;

    memcpy(letters, own, sizeof(own));
    for (int i = 0; b->system != BATCH_SLURM && i < OWN; i++)
        if (letters[i].name)
            letters[i].letter = 0;
    here.own = letters;
    rc = command_line_read(&line, &here, b, argc, argv, why);
    b->help = !rc && line.action == OPTIONS_HELP;
    if (!rc && line.rest < argc && strcmp(argv[line.rest], "run") == 0)
        line.rest++;
    if (!rc)
        rc = string_list_add_all(&b->words, line.borrowed.items, why);
    for (int i = line.rest; !rc && i < argc; i++)
        rc = string_list_add(&b->words, argv[i], why);
    command_line_clear(&line);
    return rc;
}

static int system_read(struct batch_options *b, const char *word, struct fault *why)
{
    static const char *const names[] = {"slurm", "pbs", "lsf", "sge", "kubernetes"};
    char shown[TEXT_SHOWN];

    for (int i = 0; i < 5; i++)
        if (strcmp(word, names[i]) == 0) {
            b->system = (enum batch_system)i;
            return 0;
        }
    if (!*word)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "no batch system given: mlaunch batch slurm|pbs|lsf|sge|kubernetes "
                         "[OPTIONS] PROGRAM [ARG...]");
    return fault_set(why, ML_ERR_ARGUMENT,
                     "unknown batch system '%s': use slurm, pbs, lsf, sge or "
                     "kubernetes",
                     text_show(shown, word));
}

/* Kubernetes makes names of hosts of it, in which capital letters are none, and "-N" follows. */
static int host_name_set(struct batch_options *b, const char *program, struct fault *why)
{
    char *name, shown[TEXT_SHOWN];
    int rc = b->job_name ? 0 : string_copy(&b->job_name, program, why);

    if (rc)
        return rc;
    for (name = b->job_name; *name; name++)
        *name = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '-';
    if (strlen(b->job_name) <= NAME_MOST && isalpha((unsigned char)*b->job_name) && name[-1] != '-')
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "'%s' is no name of a job in Kubernetes: --job-name has up to %d letters, "
                     "digits and '-', and begins with a letter",
                     text_show(shown, b->job_name), NAME_MOST);
}

/* Names the job as its program, in characters that every batch system accepts. */
static int job_name_set(struct batch_options *b, const char *program, struct fault *why)
{
    const char *slash = strrchr(program, '/');
    int rc;

    if (b->system == BATCH_KUBERNETES)
        return host_name_set(b, slash && slash[1] ? slash + 1 : program, why);
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

/* Checks the words of run as mlaunch will check them inside the job. */
static int run_check(struct batch_options *b, struct fault *why)
{
    /* A host that joins takes what a head takes that waits for hosts. */
    const char *const joined[] = {"--await", "1", "--key-file", "key", NULL};
    struct options_source from = {0, NULL, environ, NULL, NULL};
    struct string_list words = {0};
    struct options *o = NULL;
    int rc = string_list_add(&words, "mlaunch", why), np = 0;

    if (!rc && b->system == BATCH_KUBERNETES)
        rc = string_list_add_all(&words, (char *const *)joined, why);
    if (!rc)
        rc = string_list_add_all(&words, b->words.items, why);
    from.argc = (int)words.count;
    from.argv = words.items;
    if (!rc)
        rc = options_load_from(&o, &from, why);
    if (!rc && o->action != OPTIONS_RUN)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--help and --version start no job");
    for (int i = 0; !rc && i < o->app_count; i++)
        np += o->apps[i].np;
    if (!rc)
        rc = joining_check(o, why);
    if (!rc) {
        b->stop_signal = o->job.stop_signal;
        b->restarts = o->job.restarts;
        b->elastic = o->job.elastic > 0;
        b->grace_s = (o->job.grace_ms + 999) / 1000;
    }
    if (!rc && b->system != BATCH_KUBERNETES && !b->ntasks && !b->nodes && !b->ntasks_per_node)
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

static int kubernetes_check(struct batch_options *b, struct fault *why)
{
    bool is_asked = b->image || b->kind || b->resources.count > 0;

    if (b->system != BATCH_KUBERNETES)
        return is_asked ? fault_set(why, ML_ERR_ARGUMENT,
                                    "--image, --kind and --resource are for Kubernetes alone")
                        : 0;
    if (!b->image)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--image says which image the pods run; it has to have mlaunch and the "
                         "program");
    if (b->partition || b->account || b->output || b->pe || b->extra.count > 0 || b->ntasks)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "Kubernetes has no --partition, --account, --output (run's goes behind the "
            "word run), --pe, --extra and --ntasks: use --nodes and --ntasks-per-node, "
            "and change what is written");
    if (b->kind == BATCH_KIND_COMPOSE && (b->time_s || b->submit))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--kind compose has no --time and no --submit: run's --timeout, behind "
                         "the word run, is a limit, and docker compose starts what is written");
    if (b->stop_before_s || (b->stop_signal && b->stop_signal != SIGTERM))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "Kubernetes warns by SIGTERM alone, and then waits for --grace: use "
                         "--stop-signal TERM without --stop-before");
    if (!b->nodes)
        b->nodes = 1;
    return 0;
}

/* Not every system can warn, or warn by every signal. */
static int stop_check(struct batch_options *b, struct fault *why)
{
    if (b->stop_before_s && !b->stop_signal)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--stop-before needs --stop-signal, which says by which signal mlaunch is "
                         "asked to stop the ranks");
    if (b->system == BATCH_PBS && b->stop_signal && (b->stop_signal != SIGTERM || b->stop_before_s))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "PBS warns by SIGTERM alone, when its limit is reached: use --stop-signal "
                         "TERM without --stop-before, and --grace");
    if (b->system == BATCH_SGE && b->stop_signal && (b->stop_signal != SIGUSR1 || !b->time_s))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "SGE warns by SIGUSR1 alone, before a limit of time: use --stop-signal "
                         "USR1 with --time");
    if (!b->stop_before_s)
        b->stop_before_s = STOP_BEFORE_S;
    if (b->stop_signal && b->time_s && b->time_s <= b->stop_before_s)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "the ranks would be asked to stop before they start: --stop-before is %d "
                         "s, and --time no more than that",
                         b->stop_before_s);
    return 0;
}

int batch_options_parse(struct batch_options *out, int argc, char *const *argv, struct fault *why)
{
    const char *word = argc > 1 ? argv[1] : "";
    int rc = 0;

    *out = (struct batch_options){0};
    out->help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (!out->help)
        rc = system_read(out, word, why);
    if (!rc && !out->help)
        rc = line_read(out, argc - 1, argv + 1, why);
    if (rc || out->help)
        return rc;
    rc = run_check(out, why);
    if (!rc)
        rc = kubernetes_check(out, why);
    if (!rc)
        rc = stop_check(out, why);
    return rc ? rc : counts_check(out, why);
}

void batch_options_clear(struct batch_options *b)
{
    for (const struct option *o = own; o->help; o++)
        option_value_clear(b, o);
    string_list_clear(&b->words);
}

void batch_options_print_help(void)
{
    command_syntax_print_help(&syntax);
}
