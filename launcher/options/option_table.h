/* SPDX-License-Identifier: MIT */
/* option_table.h: every option once: its names, what --help says of it, and how a value is taken.
 */
#ifndef LAUNCHER_OPTIONS_OPTION_TABLE_H
#define LAUNCHER_OPTIONS_OPTION_TABLE_H

#include "common/fault.h"
#include "launcher/options/options.h"

#include <stdint.h>

enum option_scope {
    OPTION_JOB,     /* for the whole job: before the first program only */
    OPTION_APP,     /* for one program of several */
    OPTION_COMMAND, /* for this command: not in configuration files */
};

struct option_choice {
    const char *word;
    int value; /* -1: known, but not in this version */
};

struct option;

/* Takes `value` into `o`, or into `app` for OPTION_APP; NULL: a flag without a value. The sentence
 * of a refusal tells what is wrong with the value; the caller puts in front where it stands. */
typedef int option_setter(struct options *o, struct app_options *app, const struct option *spec,
                          const char *value, struct fault *why);

struct option {
    const char *name, *alias; /* long, without dashes; alias or NULL */
    char letter;              /* or 0 */
    const char *argument;     /* NULL: a flag */
    const char *help;         /* NULL: of no command line, only of a configuration file's section */
    enum option_scope scope;
    option_setter *set;
    size_t field;                        /* offset in struct options or struct app_options */
    int64_t min, max;                    /* of set_number */
    const struct option_choice *choices; /* of set_choice, ends with a NULL word */
};

/* All options of run, in the order of --help; a NULL name ends the table, and a row with only
 * `help` is a heading. */
extern const struct option option_table[];

/* An option of run by its name or alias, or letter; NULL. */
const struct option *option_find(const char *name);
const struct option *option_find_letter(char letter);

/* A key of the configuration's section [ssh] or [rdma]; NULL. */
const struct option *option_find_ssh(const char *key);
const struct option *option_find_rdma(const char *key);

/* Says that there is no such option, and the nearest that there is; or that it is not in this
 * version. `prefix` stands before names: "--" or "". */
int option_unknown(const char *name, const char *prefix, struct fault *why);
int option_unknown_ssh(const char *key, struct fault *why);
int option_unknown_rdma(const char *key, struct fault *why);

#endif
