/* SPDX-License-Identifier: MIT */
/*
 * options_load.h: reads the options from the configuration files, the environment (MLAUNCH_OPT_*)
 * and the command line. Later ones win, in this order.
 */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTIONS_LOAD_H
#define LAUNCHER_INPUT_OPTIONS_OPTIONS_LOAD_H

#include "common/fault.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/options.h"

/* The sources, so that tests can state their own. Nothing is kept by reference. */
struct options_source {
    int argc;
    char *const *argv;
    char *const *environment; /* or NULL */
    /* Paths, or NULL. Files that don't exist are skipped. */
    const char *system_config, *user_config;
};

/* Reads this process's environment and this machine's configuration files. *out is set on success
 * only; free it with options_destroy(). With --help and --version only `action` is filled in.
 * ML_ERR_ARGUMENT names the option, variable or line at fault; ML_ERR_MEMORY. */
int options_load(struct options **out, int argc, char *const *argv, struct fault *why);
void options_destroy(struct options *o); /* takes NULL */

/* The same for a subcommand, whose command line has been read. Takes over its programs; without
 * any, there is one without words. */
int options_load_line(struct options **out, struct command_line *c, struct fault *why);

/* options_load() with stated sources. */
int options_load_from(struct options **out, const struct options_source *from, struct fault *why);

#endif
