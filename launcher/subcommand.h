/* SPDX-License-Identifier: MIT */
/* subcommand.h: the table of subcommands, such as `mlaunch ps`. */
#ifndef LAUNCHER_SUBCOMMAND_H
#define LAUNCHER_SUBCOMMAND_H

struct subcommand {
    const char *name;
    /* argv[0] is the name. Prints errors itself and returns the exit status for mlaunch. */
    int (*run)(int argc, char **argv);
    const char *help; /* for mlaunch --help */
};

extern const struct subcommand subcommand_table[]; /* a NULL name ends it */

/* NULL: there is none of that name. */
const struct subcommand *subcommand_find(const char *name);

#endif
