/* SPDX-License-Identifier: MIT */
/* subcommand.h: what `mlaunch WORD …` does when WORD is none of a job's. */
#ifndef LAUNCHER_SUBCOMMAND_H
#define LAUNCHER_SUBCOMMAND_H

struct subcommand {
    const char *name;
    /* argv[0] is the name. Returns mlaunch's exit status; says itself what went wrong. */
    int (*run)(int argc, char **argv);
    const char *help; /* for mlaunch --help */
};

extern const struct subcommand subcommand_table[]; /* a NULL name ends it */

const struct subcommand *subcommand_find(const char *name); /* or NULL */

#endif
