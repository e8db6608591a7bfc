/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/srun_command.h"

#include "launcher/base/text/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * A step with one task a node, which gets everything the job has there: --overlap, because a rank
 * may start steps of its own, and --mem=0. Without --unbuffered slurmstepd holds back an incomplete
 * line. Everything is set on the command line, because srun takes what is missing there from
 * SLURM_* variables, which sbatch has set for other purposes.
 */
static const char *const words[] = {"srun", "--ntasks-per-node=1", "--overlap", "--mem=0",
                                    "--cpu-bind=none", "--mpi=none", "--input=all", "--output=all",
                                    "--unbuffered", "--distribution=block", "--job-name=mlaunch",
                                    /* The end of one agent does not end the others. */
                                    "--kill-on-bad-exit=0", NULL};

/* What a login sets; srun adds SLURM_* by itself. Ranks of another host get no other variables of
 * the caller. */
static const char login[] = "--export=HOME,USER,LOGNAME,SHELL,PATH,LANG";

/*
 * Options of srun that its command line cannot revoke. They describe the steps that a user starts
 * with one task for each rank: they would confine a step of one task to one rank's processors and
 * GPUs, and mix labels into the agent's bytes.
 */
static const char *const options[] = {"SRUN_CPUS_PER_TASK",
                                      "SLURM_CPUS_PER_TASK",
                                      "SLURM_TRES_PER_TASK",
                                      "SLURM_GPUS_PER_TASK",
                                      "SLURM_CPUS_PER_GPU",
                                      "SLURM_NTASKS_PER_GPU",
                                      "SLURM_NTASKS_PER_TRES",
                                      "SLURM_GPU_BIND",
                                      "SLURM_TRES_BIND",
                                      "SLURM_EXACT",
                                      "SLURM_EXCLUSIVE",
                                      "SLURM_THREADS_PER_CORE",
                                      "SLURM_HINT",
                                      "SLURM_CORE_SPEC",
                                      "SLURM_THREAD_SPEC",
                                      "SLURM_NTASKS_PER_SOCKET",
                                      "SLURM_TIMELIMIT",
                                      "SLURM_HOSTFILE",
                                      "SLURM_MULTI_PROG",
                                      "SLURM_LABELIO",
                                      "SLURM_STDERRMODE",
                                      "SLURM_BCAST",
                                      "SLURM_SEND_LIBS",
                                      "SLURM_WORKING_DIR",
                                      "SLURM_RESV_PORTS",
                                      "SLURM_EPILOG",
                                      "SLURM_PROLOG",
                                      "SLURM_WAIT",
                                      "SLURM_IMMEDIATE",
                                      "SLURM_STEP_GRES",
                                      "SLURM_REQ_SWITCH",
                                      NULL};

/* Those which the ranks' programs read: how many threads to start, and on what. */
static const char *const kept[] = {"SLURM_CPUS_PER_TASK", "SLURM_GPUS_PER_TASK",
                                   "SLURM_THREADS_PER_CORE", NULL};

static bool is_option(const char *assignment)
{
    size_t length = strcspn(assignment, "=");

    for (const char *const *o = options; *o; o++)
        if (strlen(*o) == length && strncmp(*o, assignment, length) == 0)
            return true;
    return false;
}

int srun_command_environment(char ***out, char *const *environment, struct fault *why)
{
    size_t count = 0, used = 0;
    char **list;

    while (environment[count])
        count++;
    list = calloc(count + 1, sizeof(*list));
    if (!list)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (!is_option(environment[i]))
            list[used++] = environment[i];
    *out = list;
    return 0;
}

/* A comma would end the value; those that srun itself has set contain none. */
static bool is_plain(const char *value)
{
    return *value && strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-.:") == strlen(value);
}

static int export_word(char **out, const struct host *host, char *const *environment,
                       struct fault *why)
{
    int rc = string_copy(out, host->is_local ? "--export=ALL" : login, why);

    for (const char *const *name = kept; *name && !rc; name++) {
        const char *value = environment_find(environment, *name);
        char *longer = NULL;

        if (!value || !is_plain(value))
            continue;
        rc = string_format(&longer, why, "%s,%s=%s", *out, *name, value);
        if (!rc) {
            free(*out);
            *out = longer;
        }
    }
    return rc;
}

static int number_word(struct string_list *out, const char *option, int number, struct fault *why)
{
    char *word = NULL;
    int rc = string_format(&word, why, "%s=%d", option, number);

    if (!rc)
        rc = string_list_add(out, word, why);
    free(word);
    return rc;
}

static int nodes_word(struct string_list *out, const struct host *const *hosts, int count,
                      struct fault *why)
{
    char *word = NULL;
    int rc = string_copy(&word, "--nodelist=", why);

    for (int i = 0; i < count && !rc; i++) {
        const char *node = hosts[i]->node ? hosts[i]->node : hosts[i]->name;
        char *longer = NULL;

        rc = string_format(&longer, why, "%s%s%s", word, i ? "," : "", node);
        if (!rc) {
            free(word);
            word = longer;
        }
    }
    if (!rc)
        rc = string_list_add(out, word, why);
    free(word);
    return rc;
}

int srun_command_words(struct string_list *out, const struct host *const *hosts, int count,
                       char *const *environment, struct fault *why)
{
    char *export = NULL;
    int rc = string_list_add_all(out, (char *const *)words, why);

    if (!rc)
        rc = number_word(out, "--nodes", count, why);
    if (!rc)
        rc = number_word(out, "--ntasks", count, why);
    if (!rc && hosts[0]->component)
        rc = number_word(out, "--het-group", hosts[0]->component - 1, why);
    if (!rc)
        rc = export_word(&export, hosts[0], environment, why);
    if (!rc)
        rc = string_list_add(out, export, why);
    if (!rc)
        rc = nodes_word(out, hosts, count, why);
    free(export);
    return rc;
}
