/* SPDX-License-Identifier: MIT */
/* command_line.h: the one reader of command lines: sorts the words into options, programs and
 * others, as the subcommand's syntax says. */
#ifndef LAUNCHER_INPUT_OPTIONS_COMMAND_LINE_H
#define LAUNCHER_INPUT_OPTIONS_COMMAND_LINE_H

#include "common/fault.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/options/command_syntax.h"
#include "launcher/input/options/setting.h"

struct command_line {
    const struct command_syntax *syntax;
    enum options_action action;
    struct setting_list settings; /* run's options, and own ones without a setter */
    char ***programs;             /* the argv of each, owned, NULL-terminated */
    int program_count;
    struct string_list words; /* for COMMAND_MIXED */
    int rest;                 /* the index in argv of the first word that was not read */
    /* The words of options as they were typed: run's, and own ones but OPTION_COMMAND's. Empty for
     * run itself. */
    struct string_list borrowed, own;
};

/* Reads what follows argv[0]; --help and --version end the reading. Own options with a setter are
 * stored in *to at once; their values belong to argv. On failure *out is unchanged:
 * ML_ERR_ARGUMENT names the word at fault; ML_ERR_MEMORY. `syntax` must outlive *out. */
int command_line_read(struct command_line *out, const struct command_syntax *syntax, void *to,
                      int argc, char *const *argv, struct fault *why);
void command_line_clear(struct command_line *c); /* takes zeros */

/* The last value of an own option without a setter: NULL: not given; "": a flag. It belongs to
 * *c. */
const char *command_line_value(const struct command_line *c, const char *name);

/* Appends all values that the option was given. ML_ERR_MEMORY. */
int command_line_values(struct string_list *out, const struct command_line *c, const char *name,
                        struct fault *why);

#endif
