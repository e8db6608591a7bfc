/* SPDX-License-Identifier: MIT */
/* option_help.h: an option's lines of --help, on stdout. */
#ifndef LAUNCHER_OPTIONS_OPTION_HELP_H
#define LAUNCHER_OPTIONS_OPTION_HELP_H

#include "launcher/options/option_table.h"

enum { OPTION_COLUMN = 30 /* where what it means begins */ };

void option_print(const struct option *s);

#endif
