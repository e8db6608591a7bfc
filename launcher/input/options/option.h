/* SPDX-License-Identifier: MIT */
/* option.h: what an option is: names, the text of --help, and how its value is stored. */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTION_H
#define LAUNCHER_INPUT_OPTIONS_OPTION_H

#include "common/fault.h"
#include "launcher/input/options/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_scope {
    OPTION_JOB,     /* for the whole job: before the first program only */
    OPTION_APP,     /* for one program of several */
    OPTION_COMMAND, /* for this command: not in configuration files, nor in command_line.own */
};

struct option;

/* Stores `value` in *to: of run's options struct options, or struct app_options for OPTION_APP.
 * NULL: the option is a flag and was given without a value. The message of a failure says what is
 * wrong with the value; the caller adds where it was given (fault_wrap). */
typedef int option_setter(void *to, const struct option *spec, const char *value,
                          struct fault *why);

/* Judges a value before option_value_text or option_value_list stores it; the message is as that of
 * a setter. */
typedef int option_checker(const char *value, struct fault *why);

struct option {
    const char *name, *alias; /* long, without dashes, or NULL */
    char letter;              /* or 0 */
    const char *argument;     /* NULL: a flag */
    const char *help;         /* NULL: a key of configuration files only */
    enum option_scope scope;
    option_setter *set;                /* NULL: see command_line_value() */
    option_checker *check;             /* or NULL */
    bool is_text;                      /* the field is a char *, allocated */
    size_t field;                      /* offset in what the setter stores it in */
    size_t layer;                      /* the same for the value's layer, where one is kept */
    int64_t min, max;                  /* for option_value_number */
    const struct named_value *choices; /* for option_value_choice, ends with a NULL word */
    /* The value if none is given; the next word is one only if it is one of `choices`, or without
     * `choices` begins with a digit. NULL: the option needs a value. */
    const char *otherwise;
    bool takes_word; /* with `otherwise`: the next word is one unless it begins with '-' */
};

#endif
