/* SPDX-License-Identifier: MIT */
/* run_command.h: `mlaunch run`: options become a plan, which runs as a job. struct subcommand says
 * what these take and return. */
#ifndef LAUNCHER_RUN_COMMAND_H
#define LAUNCHER_RUN_COMMAND_H

struct options;

int run_command_run(int argc, char **argv);

/* bench-job RANKS [OPTION FILE]... run ..., as mlaunch bench makes it
 * (launcher/tools/bench/command/bench_command.h). */
int run_command_run_bench(int argc, char **argv);

/* Runs the job of options that another subcommand has read. */
int run_command_run_options(const struct options *o);

#endif
