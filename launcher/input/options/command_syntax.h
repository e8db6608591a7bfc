/* SPDX-License-Identifier: MIT */
/* command_syntax.h: what the command line of a subcommand may say, as data: --help, the search for
 * an option and the refusal of any other follow from it. */
#ifndef LAUNCHER_INPUT_OPTIONS_COMMAND_SYNTAX_H
#define LAUNCHER_INPUT_OPTIONS_COMMAND_SYNTAX_H

#include "launcher/input/options/option_table.h"

#include <stddef.h>

/* An option that people know from programs like this one: a sentence that says what to do here. */
struct command_hint {
    const char *word; /* with its dashes */
    const char *text;
};

enum command_words {
    COMMAND_PROGRAMS, /* the first word begins the programs, which ':' separates */
    COMMAND_REST,     /* the first word ends what is read */
    COMMAND_MIXED,    /* words and options in any order; only words come behind "--" */
};

struct command_syntax {
    const char *name;           /* NULL: run */
    const char *usage;          /* the first lines of --help */
    const char *ending;         /* its last lines, or NULL */
    const struct option *own;   /* rows as those of option_table; or NULL */
    bool borrows_all;           /* all options of run, and those of other launchers, are known */
    const char *const *without; /* but these; a configuration file's are ignored; or NULL */
    const char *why_without;    /* what to do instead, or NULL */
    const char *const *borrowed[2];   /* without `borrows_all`: the options of run that are known */
    const struct option *reworded;    /* what --help prints for some of `borrowed`; or NULL */
    const struct command_hint *hints; /* ends with a NULL word; or NULL */
    const char *unknown; /* the rest of the sentence that refuses an unknown option; or NULL */
    enum command_words words;
    bool may_lack_program; /* with COMMAND_PROGRAMS */
    size_t words_most;     /* for COMMAND_MIXED */
};

/* True if run's option `name` is known. */
bool command_syntax_borrows(const struct command_syntax *s, const char *name);

/* The hint for a word such as "--all" or "--all=x", or NULL. */
const char *command_syntax_hint(const struct command_syntax *s, const char *word);

/* Sets the message for an option that is not known here; returns ML_ERR_ARGUMENT. `word` begins
 * with its dashes; a value in it is left out. `within`: the letters around it, or NULL. */
int command_syntax_refuse(const struct command_syntax *s, const char *word, const char *within,
                          struct fault *why);

/* Prints --help to stdout. */
void command_syntax_print_help(const struct command_syntax *s);

/* Prints the rows of a table, or a line for a command; wrapped at column 80. */
void command_syntax_print_options(const struct option *table);
void command_syntax_print_command(const char *name, const char *help);

#endif
