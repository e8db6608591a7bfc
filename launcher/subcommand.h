/* SPDX-License-Identifier: MIT */
/* subcommand.h: the subcommands, such as `mlaunch ps`. */
#ifndef LAUNCHER_SUBCOMMAND_H
#define LAUNCHER_SUBCOMMAND_H

#include "launcher/base/process/install_path.h"
#include "launcher/base/process/program_main.h"

struct subcommand {
    const char *name;
    const char *help;          /* for mlaunch --help; NULL: for mlaunch itself */
    program_run *run;          /* argv[0] is the name; NULL: mlaunch becomes `program` */
    enum install_part program; /* if `run` is NULL */
};

/* The table of all, which main.c has, whose parts use this; a NULL name ends it. */
void subcommand_set_table(const struct subcommand *table);
const struct subcommand *subcommand_table(void);

/* NULL: there is none of that name. */
const struct subcommand *subcommand_find(const char *name);

/* The subcommand that a word which is none probably stands for, or NULL. */
const char *subcommand_near(const char *word);

/* Runs it; argv[1] is the name. Returns the exit status. argv, the environment, the pid and open
 * descriptors stay as they are for a program that mlaunch becomes. */
int subcommand_run(const struct subcommand *s, int argc, char **argv);

#endif
