/* SPDX-License-Identifier: MIT */
#include "launcher/srun_command.h"

#include <stdlib.h>

/*
 * A step of one task, which gets all that the job has on its node: --overlap, because a rank may
 * start steps of its own, and --mem=0. Unless --unbuffered, slurmstepd keeps what is no full line.
 * On the command line, because srun takes anything not said there from SLURM_* variables, which
 * sbatch set for other purposes.
 */
static const char *const words[] = {"srun",
                                    "--nodes=1",
                                    "--ntasks=1",
                                    "--ntasks-per-node=1",
                                    "--overlap",
                                    "--mem=0",
                                    "--cpu-bind=none",
                                    "--mpi=none",
                                    "--input=all",
                                    "--output=all",
                                    "--unbuffered",
                                    "--distribution=block",
                                    "--job-name=mlaunch",
                                    NULL};

/* What a login gives; SLURM_* come anyway. Ranks of another host get no more of the caller's. */
static const char login[] = "--export=HOME,USER,LOGNAME,SHELL,PATH,LANG";

int srun_command_words(struct string_list *out, const struct host *host, struct fault *why)
{
    char *node = NULL;
    int rc = string_list_add_all(out, (char *const *)words, why);

    if (!rc)
        rc = string_list_add(out, host->is_local ? "--export=ALL" : login, why);
    if (!rc)
        rc = string_format(&node, why, "--nodelist=%s", host->node ? host->node : host->name);
    if (!rc)
        rc = string_list_add(out, node, why);
    free(node);
    return rc;
}
