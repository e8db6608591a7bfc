/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/batch_script.h"

#include "common/text/signal_text.h"
#include "common/text/text_stream.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/text_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some batch systems look for their options in the whole file, quoted text included. */
static int words_check(char *const *words, struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (; words && *words; words++)
        if (strstr(*words, "\n#"))
            return fault_set(
                why, ML_ERR_ARGUMENT,
                "'%s' has a line that begins with '#', which batch systems would read as "
                "an option",
                text_show(shown, *words));
    return 0;
}

/* Returns "mlaunch" if PATH finds this program by it, else the path of this program. */
static int self_find(char **out, struct fault *why)
{
    char *found = NULL, here[PATH_MAX], there[PATH_MAX];
    bool is_found;

    if (!realpath("/proc/self/exe", here))
        return fault_set(why, ML_ERR_SYSTEM, "cannot read /proc/self/exe");
    is_found = program_path_find(&found, "mlaunch", NULL) == 0 && realpath(found, there) &&
               strcmp(here, there) == 0;
    free(found);
    return string_copy(out, is_found ? "mlaunch" : here, why);
}

/* Writes hours, minutes and seconds, as PBS and SGE know no days. */
static void clock_write(FILE *to, int64_t s)
{
    fprintf(to, "%lld:%02d:%02d\n", (long long)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

static void line_if(FILE *to, const char *head, const char *value)
{
    if (value)
        fprintf(to, "%s%s\n", head, value);
}

static void slurm_write(FILE *to, const struct batch_options *b)
{
    line_if(to, "#SBATCH --job-name=", b->job_name);
    if (b->nodes)
        fprintf(to, "#SBATCH --nodes=%d\n", b->nodes);
    if (b->ntasks)
        fprintf(to, "#SBATCH --ntasks=%d\n", b->ntasks);
    if (b->ntasks_per_node)
        fprintf(to, "#SBATCH --ntasks-per-node=%d\n", b->ntasks_per_node);
    if (b->time_s) {
        fputs("#SBATCH --time=", to);
        clock_write(to, b->time_s);
    }
    if (b->stop_signal) /* B: to mlaunch alone, which takes the script's place */
        fprintf(to, "#SBATCH --signal=B:%s@%d\n", signal_text_name(b->stop_signal),
                b->stop_before_s);
    line_if(to, "#SBATCH --partition=", b->partition);
    line_if(to, "#SBATCH --account=", b->account);
    line_if(to, "#SBATCH --output=", b->output);
    fputs("#SBATCH --export=ALL\n", to);
}

/* Writes one or two kinds of chunks: `nodes` hosts with `each` slots, and `more` hosts with
 * `more_each`. */
static void select_write(FILE *to, const struct batch_options *b)
{
    int nodes = b->nodes, each = b->ntasks_per_node, more = 0, more_each = 0;

    if (nodes && b->ntasks && !each) {
        each = b->ntasks / nodes;
        more = b->ntasks % nodes;
        more_each = each + 1;
        nodes -= more;
    } else if (!nodes && b->ntasks && each) {
        nodes = b->ntasks / each;
        more_each = b->ntasks % each;
        more = more_each > 0;
    } else if (!nodes) {
        nodes = b->ntasks ? b->ntasks : 1;
    }
    if (!each)
        each = 1;
    fputs("#PBS -l select=", to);
    if (nodes)
        fprintf(to, "%d:ncpus=%d:mpiprocs=%d%s", nodes, each, each, more ? "+" : "");
    if (more)
        fprintf(to, "%d:ncpus=%d:mpiprocs=%d", more, more_each, more_each);
    fputc('\n', to);
    if (b->nodes || b->ntasks_per_node)
        fputs("#PBS -l place=scatter\n", to);
}

static void pbs_write(FILE *to, const struct batch_options *b)
{
    line_if(to, "#PBS -N ", b->job_name);
    if (b->nodes || b->ntasks || b->ntasks_per_node)
        select_write(to, b);
    if (b->time_s) {
        fputs("#PBS -l walltime=", to);
        clock_write(to, b->time_s);
    }
    line_if(to, "#PBS -q ", b->partition);
    line_if(to, "#PBS -A ", b->account);
    line_if(to, "#PBS -o ", b->output);
    fputs("#PBS -j oe\n#PBS -V\n", to);
}

static void lsf_write(FILE *to, const struct batch_options *b)
{
    int each = b->ntasks_per_node, total = b->ntasks;

    if (!each && b->nodes && total)
        each = (total + b->nodes - 1) / b->nodes;
    if (!each && b->nodes)
        each = 1;
    if (!total && each)
        total = each * (b->nodes ? b->nodes : 1);
    line_if(to, "#BSUB -J ", b->job_name);
    if (total)
        fprintf(to, "#BSUB -n %d\n", total);
    if (each)
        fprintf(to, "#BSUB -R \"span[ptile=%d]\"\n", each);
    if (b->time_s)
        fprintf(to, "#BSUB -W %lld:%02d\n", (long long)((b->time_s + 59) / 3600),
                (int)((b->time_s + 59) / 60 % 60));
    if (b->stop_signal)
        fprintf(to, "#BSUB -wa %s\n#BSUB -wt %d\n", signal_text_name(b->stop_signal),
                (b->stop_before_s + 59) / 60);
    line_if(to, "#BSUB -q ", b->partition);
    line_if(to, "#BSUB -P ", b->account);
    line_if(to, "#BSUB -o ", b->output);
    fputs("#BSUB -env all\n", to);
}

static void sge_write(FILE *to, const struct batch_options *b)
{
    line_if(to, "#$ -N ", b->job_name);
    if (b->ntasks)
        fprintf(to, "#$ -pe %s %d\n", b->pe ? b->pe : "mpi", b->ntasks);
    if (b->time_s) {
        fputs("#$ -l h_rt=", to);
        clock_write(to, b->time_s);
    }
    if (b->stop_signal) { /* at the soft limit SGE sends SIGUSR1 */
        fputs("#$ -l s_rt=", to);
        clock_write(to, b->time_s - b->stop_before_s);
    }
    line_if(to, "#$ -q ", b->partition);
    line_if(to, "#$ -A ", b->account);
    line_if(to, "#$ -o ", b->output);
    fputs("#$ -j y\n#$ -cwd\n#$ -V\n#$ -S /bin/sh\n", to);
}

/* Slurm, LSF and, with -cwd, SGE start the script in the directory in which it was submitted. */
static const struct {
    const char *name, *submit, *head;
    void (*write)(FILE *to, const struct batch_options *b);
    const char *cd;
} systems[] = {
    [BATCH_SLURM] = {"Slurm", "sbatch THIS-FILE", "#SBATCH ", slurm_write, ""},
    [BATCH_PBS] = {"PBS", "qsub THIS-FILE", "#PBS ", pbs_write,
                   "cd \"$PBS_O_WORKDIR\" || exit 125\n"},
    [BATCH_LSF] = {"LSF", "bsub < THIS-FILE", "#BSUB ", lsf_write, ""},
    [BATCH_SGE] = {"SGE", "qsub THIS-FILE", "#$ ", sge_write, ""},
};

int batch_script_make(char **out, const struct batch_options *b, struct fault *why)
{
    char *self = NULL, *text;
    struct text_stream s;
    FILE *to;
    int rc = words_check(b->words.items, why);

    if (!rc)
        rc = self_find(&self, why);
    if (rc)
        return rc;
    to = text_stream_open(&s);
    if (!to) {
        free(self);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    fprintf(to, "#!/bin/sh\n# A job for %s, written by mlaunch batch. To submit it: %s\n",
            systems[b->system].name, systems[b->system].submit);
    systems[b->system].write(to, b);
    for (size_t i = 0; i < b->extra.count; i++)
        fprintf(to, "%s%s\n", systems[b->system].head, b->extra.items[i]);
    fprintf(to,
            "\n%s# exec: the batch system's signals are for mlaunch, and its status is the "
            "job's.\nexec ",
            systems[b->system].cd);
    command_words_quote(to, self);
    fputs(" run", to);
    for (size_t i = 0; i < b->words.count; i++) {
        fputc(' ', to);
        command_words_quote(to, b->words.items[i]);
    }
    fputc('\n', to);
    free(self);
    text = text_stream_close(to, &s);
    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = text;
    return 0;
}
