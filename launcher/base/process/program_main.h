/* SPDX-License-Identifier: MIT */
/* program_main.h: main() of mlaunch and of the programs that it becomes for some of its
 * subcommands, such as mlaunch-top. */
#ifndef LAUNCHER_BASE_PROCESS_PROGRAM_MAIN_H
#define LAUNCHER_BASE_PROCESS_PROGRAM_MAIN_H

/* Prints errors itself and returns the exit status. */
typedef int program_run(int argc, char **argv);

struct program_word {
    const char *name;
    program_run *run; /* argv[0] is the name */
};

/* Prepares this process, calls `run` and returns the exit status: run's, or STATUS_OURS if not all
 * that it has printed could be written. */
int program_main(int argc, char **argv, program_run *run);

/* The same for a program that mlaunch becomes, with its own argv: argv[1] is one of `words`, which
 * a NULL name ends. */
int program_main_word(int argc, char **argv, const struct program_word *words);

#endif
