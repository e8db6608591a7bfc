/* SPDX-License-Identifier: MIT */
#include "launcher/subcommand.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/ask/query_command.h"
#include "launcher/commands/attach_command.h"
#include "launcher/commands/batch/batch.h"
#include "launcher/commands/exec_command.h"
#include "launcher/commands/logs_command.h"
#include "launcher/env_command.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

const struct subcommand subcommand_table[] = {
    {"ps", "list the jobs on hosts: user, program, ranks, alive or dead", .run = ps_run},
    {"kill", "end a job by its id, from any terminal", .run = kill_run},
    {"attach", "run a debugger or a shell beside a rank, on a terminal", .run = attach_command_run},
    {"logs", "print what a detached job has written", .run = logs_command_run},
    {"clean", "remove what dead jobs have left behind", .run = clean_run},
    {"hosts", "list the hosts, and with --probe the wiring of their RDMA devices",
     .run = hosts_run},
    {"info", "show what the hosts are, side by side, and where they differ",
     .program = INSTALL_VERIFY},
    {"status", "show which hosts are online, their load and the jobs on them",
     .program = INSTALL_VERIFY},
    {"verify", "look whether the hosts are fit to run jobs", .program = INSTALL_VERIFY},
    {"top", "show live what hosts, jobs and ranks do, and who waits for whom",
     .program = INSTALL_TOP},
    {"metrics", "what hosts, RDMA ports, jobs and ranks do, for Prometheus",
     .program = INSTALL_METRICS},
    {"exec", "run a command on each host, and print equal outputs once", .run = exec_command_run},
    {"sync", "give all hosts the same files, each by the one before it", .program = INSTALL_SYNC},
    {"batch", "write a job script for Slurm, PBS, LSF or SGE, and submit it", .run = batch_main},
    {"env", "print the commands by which a shell finds what belongs to mlaunch",
     .run = env_command_run},
    {"bench", "measure the collective calls, and the links between ranks",
     .program = INSTALL_BENCH_COMMAND},
    {.name = NULL},
};

const struct subcommand *subcommand_find(const char *name)
{
    for (const struct subcommand *s = subcommand_table; s->name; s++) {
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

int subcommand_run(const struct subcommand *s, int argc, char **argv)
{
    char program[PATH_MAX];
    struct fault why;

    if (s->run)
        return s->run(argc - 1, argv + 1);
    if (install_path_find(program, s->program, &why) == 0) {
        execv(program, argv);
        fault_os(&why, ML_ERR_SYSTEM, errno, "cannot run %s", program);
    }
    log_error("%s", why.text);
    return STATUS_OURS;
}
