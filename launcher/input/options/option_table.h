/* SPDX-License-Identifier: MIT */
/* option_table.h: the one table of options: names, --help texts and setters. */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTION_TABLE_H
#define LAUNCHER_INPUT_OPTIONS_OPTION_TABLE_H

#include "common/fault.h"
#include "launcher/base/text/nearest.h"
#include "launcher/input/options/options.h"

#include <stdint.h>

enum option_scope {
    OPTION_JOB,     /* for the whole job: before the first program only */
    OPTION_APP,     /* for one program of several */
    OPTION_COMMAND, /* for this command: not in configuration files */
};

struct option;

/* Stores `value` in `o`, or in `app` for OPTION_APP. NULL: the option is a flag and was given
 * without a value. The message of a failure says what is wrong with the value; the caller adds
 * where it was given (fault_wrap). */
typedef int option_setter(struct options *o, struct app_options *app, const struct option *spec,
                          const char *value, struct fault *why);

struct option {
    const char *name, *alias; /* long, without dashes; alias or NULL */
    char letter;              /* or 0 */
    const char *argument;     /* NULL: a flag */
    const char *help;         /* NULL: a key of configuration files only */
    enum option_scope scope;
    option_setter *set;
    size_t field;                      /* offset in struct options or struct app_options */
    int64_t min, max;                  /* for set_number */
    const struct named_value *choices; /* for set_choice, ends with a NULL word */
};

/* All options of run, in the order of --help. A row with `help` alone is a heading; a row without
 * `help` ends the table. */
extern const struct option option_table[];

/* Finds an option of run by its name or alias, or by its letter. NULL: there is none. */
const struct option *option_table_find(const char *name);
const struct option *option_table_find_letter(char letter);

/* Finds a key of section [ssh] or [rdma] of configuration files. NULL: there is none. */
const struct option *option_table_find_ssh(const char *key);
const struct option *option_table_find_rdma(const char *key);

/* Offers all names of run's options, without dashes. */
void option_table_offer(struct nearest *n);

/* Sets the message for an unknown option or key, which names the one that is probably meant, if
 * there is one, and returns ML_ERR_ARGUMENT. `prefix` is printed before names: "--" or "". */
int option_table_unknown(const char *name, const char *prefix, struct fault *why);
int option_table_unknown_ssh(const char *key, struct fault *why);
int option_table_unknown_rdma(const char *key, struct fault *why);

#endif
