/* SPDX-License-Identifier: MIT */
/* command_line.h: sorts the words of the command line into options and programs. */
#ifndef LAUNCHER_INPUT_OPTIONS_COMMAND_LINE_H
#define LAUNCHER_INPUT_OPTIONS_COMMAND_LINE_H

#include "common/fault.h"
#include "launcher/input/options/setting.h"

struct command_line {
    enum options_action action;
    struct setting_list settings;
    char ***programs; /* the argv of each, owned, NULL-terminated */
    int program_count;
};

/* Reads argv[1] and what follows; --help and --version end the reading. The settings get `layer`.
 * On failure *out is unchanged: ML_ERR_ARGUMENT names the word at fault; ML_ERR_MEMORY. */
int command_line_read(struct command_line *out, int argc, char *const *argv, int layer,
                      struct fault *why);

/* Returns how many words behind `word` are its value, if it is an option of run, ours or one that
 * foreign.h has: 0, 1, or 2 for "-env NAME VALUE"; -1: run has no such option. `next` is the word
 * behind it, or NULL. */
int command_line_arguments(const char *word, const char *next);
void command_line_clear(struct command_line *c);

#endif
