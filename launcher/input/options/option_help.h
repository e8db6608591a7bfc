/* SPDX-License-Identifier: MIT */
/* option_help.h: prints the lines of --help for an option or a command. */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTION_HELP_H
#define LAUNCHER_INPUT_OPTIONS_OPTION_HELP_H

#include "launcher/input/options/option_table.h"

enum { OPTION_COLUMN = 30 /* at which the descriptions begin */ };

/* They print to stdout; the description is wrapped at column 80. */
void option_help_print(const struct option *s);
void option_help_print_command(const char *name, const char *help);

#endif
