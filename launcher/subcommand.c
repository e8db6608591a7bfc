/* SPDX-License-Identifier: MIT */
#include "launcher/subcommand.h"

#include "launcher/ask/query_command.h"
#include "launcher/commands/attach_command.h"
#include "launcher/commands/batch/batch.h"
#include "launcher/commands/exec_command.h"
#include "launcher/commands/logs_command.h"
#include "launcher/env_command.h"
#include "launcher/tools/metrics/metrics_command.h"
#include "launcher/tools/sync/sync_command.h"
#include "launcher/tools/top/top_command.h"
#include "launcher/tools/verify/verify_command.h"

#include <stddef.h>
#include <string.h>

const struct subcommand subcommand_table[] = {
    {"ps", ps_run, "list the jobs on hosts: user, program, ranks, alive or dead"},
    {"kill", kill_run, "end a job by its id, from any terminal"},
    {"attach", attach_command_run, "run a debugger or a shell beside a rank, on a terminal"},
    {"logs", logs_command_run, "print what a detached job has written"},
    {"clean", clean_run, "remove what dead jobs have left behind"},
    {"hosts", hosts_run, "list the hosts, and with --probe the wiring of their RDMA devices"},
    {"info", info_run, "show what the hosts are, side by side, and where they differ"},
    {"status", status_run, "show which hosts are online, their load and the jobs on them"},
    {"verify", verify_run, "look whether the hosts are fit to run jobs"},
    {"top", top_command_run, "show live what hosts, jobs and ranks do, and who waits for whom"},
    {"metrics", metrics_command_run, "what hosts, RDMA ports, jobs and ranks do, for Prometheus"},
    {"exec", exec_command_run, "run a command on each host, and print equal outputs once"},
    {"sync", sync_command_run, "give all hosts the same files, each by the one before it"},
    {"batch", batch_main, "write a job script for Slurm, PBS, LSF or SGE, and submit it"},
    {"env", env_command_run, "print the commands by which a shell finds what belongs to mlaunch"},
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
