/* SPDX-License-Identifier: MIT */
#include "launcher/subcommand.h"

#include "launcher/batch/batch.h"
#include "launcher/query/query_command.h"

#include <stddef.h>
#include <string.h>

const struct subcommand subcommand_table[] = {
    {"ps", ps_run, "the jobs on hosts: who, what, how many ranks, live or dead"},
    {"kill", kill_run, "end a job by its id, on whatever terminal it was started"},
    {"clean", clean_run, "remove what dead jobs have left"},
    {"hosts", hosts_run, "the hosts, and with --probe how their RDMA devices are wired"},
    {"batch", batch_main, "write a job script for Slurm, PBS, LSF or SGE, and submit it"},
    {NULL, NULL, NULL},
};

const struct subcommand *subcommand_find(const char *name)
{
    for (const struct subcommand *s = subcommand_table; s->name; s++) {
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}
