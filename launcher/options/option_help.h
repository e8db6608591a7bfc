/* SPDX-License-Identifier: MIT */
/* option_print.h: an option's lines of --help, on stdout. */
#ifndef LAUNCHER_OPTION_PRINT_H
#define LAUNCHER_OPTION_PRINT_H

#include "launcher/options/option_table.h"

enum { OPTION_COLUMN = 30 /* where what it means begins */ };

void option_print(const struct option *s);

#endif
