/* SPDX-License-Identifier: MIT */
/* command_line.h: the words of the command line sorted into options and programs. */
#ifndef LAUNCHER_OPTIONS_COMMAND_LINE_H
#define LAUNCHER_OPTIONS_COMMAND_LINE_H

#include "common/fault.h"
#include "launcher/options/setting.h"

struct command_line {
    enum options_action action;
    struct setting_list settings;
    char ***programs; /* of each program its argv, owned, NULL-terminated */
    int program_count;
};

/* --help and --version end the reading. `layer` is given to the settings. */
int command_line_read(struct command_line *out, int argc, char *const *argv, int layer,
                      struct fault *why);
void command_line_clear(struct command_line *c);

#endif
