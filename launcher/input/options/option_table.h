/* SPDX-License-Identifier: MIT */
/* option_table.h: the one table of run's options: names, --help texts and setters. */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTION_TABLE_H
#define LAUNCHER_INPUT_OPTIONS_OPTION_TABLE_H

#include "common/fault.h"
#include "launcher/input/options/option.h"

/* All options of run, in the order of --help. A row with `help` alone is a heading; a row without
 * `help` ends the table. */
extern const struct option option_table[];

/* A flag that only options of other programs set (foreign.h): the job is meant for one host. */
extern const struct option option_table_one_host;

/* Finds an option of a table by its name or alias, or by its letter. NULL: there is none. */
const struct option *option_table_search(const struct option *table, const char *name);
const struct option *option_table_search_letter(const struct option *table, char letter);

/* The same in the table of run's options. */
const struct option *option_table_find(const char *name);

/* Finds a key of section [ssh] or [rdma] of configuration files. ML_ERR_ARGUMENT: there is none. */
int option_table_find_in(const struct option **out, const char *section, const char *key,
                         struct fault *why);

/* Sets the message for an unknown option, which names the one that is probably meant, if there is
 * one, and returns ML_ERR_ARGUMENT. */
int option_table_unknown(const char *name, struct fault *why);

#endif
