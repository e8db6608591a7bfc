/* SPDX-License-Identifier: MIT */
/* main.c: the mlaunch command: the table of its subcommands, of which one runs. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/ask/query_command.h"
#include "launcher/attach_command.h"
#include "launcher/base/process/program_main.h"
#include "launcher/commands/batch/batch.h"
#include "launcher/commands/commands.h"
#include "launcher/env_command.h"
#include "launcher/exec_command.h"
#include "launcher/join_command.h"
#include "launcher/run_command.h"
#include "launcher/subcommand.h"

/* mlaunch help [COMMAND] is --help, or that of the command. */
static int help_run(int argc, char **argv)
{
    const char *name = argc > 1 && argv[1][0] != '-' ? argv[1] : "run";
    const struct subcommand *command = subcommand_find(name);
    char *words[] = {(char *)"mlaunch", (char *)name, (char *)"--help", NULL};

    if (command)
        return subcommand_run(command, 3, words);
    log_error("there is no command %s (to run a program called help: mlaunch -- help)", name);
    return STATUS_OURS;
}

static const struct subcommand table[] = {
    {"run", "start a program; the word may be left out", .run = run_command_run},
    {"join", "make this machine a host of a job that calls the head, without SSH",
     .run = join_command_run},
    {"ps", "list the jobs on hosts: user, program, ranks, alive or dead", .run = ps_run},
    {"kill", "end a job by its id, from any terminal", .run = kill_run},
    {"shrink", "take ranks out of a running job of --elastic", .run = shrink_command_run},
    {"grow", "add ranks to a running job of --elastic", .run = grow_command_run},
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
    {"batch", "write a job script for Slurm, PBS, LSF, SGE or Kubernetes", .run = batch_main},
    {"env", "print the commands by which a shell finds what belongs to mlaunch",
     .run = env_command_run},
    {"bench", "measure the collective calls, and the links between ranks",
     .program = INSTALL_BENCH_COMMAND},
    {"help", "print this, or the help of a command", .run = help_run},
    {"bench-job", NULL, .run = run_command_run_bench},
    {.name = NULL},
};

static int command_run(int argc, char **argv)
{
    const struct subcommand *command;

    subcommand_set_table(table);
    command = argc > 1 ? subcommand_find(argv[1]) : NULL;
    return command ? subcommand_run(command, argc, argv) : run_command_run(argc, argv);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, command_run);
}
