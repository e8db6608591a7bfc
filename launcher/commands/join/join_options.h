/* SPDX-License-Identifier: MIT */
/* join_options.h: the command line of mlaunch join. */
#ifndef LAUNCHER_COMMANDS_JOIN_JOIN_OPTIONS_H
#define LAUNCHER_COMMANDS_JOIN_JOIN_OPTIONS_H

#include "launcher/commands/join/join_place.h"
#include "launcher/input/options/options.h"

struct join_options {
    enum options_action action;
    char *key_new; /* a key is to be written there, and nothing else done; or NULL */
    struct join_place place;
    bool is_head;        /* this host is, and runs the job */
    struct options *run; /* run's; without a program if it is started with none */
};

/* *out is to be cleared in any case. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int join_options_read(struct join_options *out, int argc, char *const *argv, struct fault *why);
void join_options_clear(struct join_options *j);

void join_options_print_help(void);

#endif
