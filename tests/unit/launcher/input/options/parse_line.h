/* SPDX-License-Identifier: MIT */
/* parse_line.h: for tests of options: reads a line as a command line. */
#ifndef TESTS_UNIT_LAUNCHER_OPTIONS_PARSE_LINE_H
#define TESTS_UNIT_LAUNCHER_OPTIONS_PARSE_LINE_H

#include "launcher/input/options/options_load.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 40 };

/* Splits at '|', so that words may be empty or hold blanks. */
static inline int parse_line(struct options **o, const char *line, char *const *environment,
                             struct fault *why)
{
    static char copy[1024];
    char *argv[WORDS], *rest = copy;
    struct options_source from = {1, argv, environment, NULL, NULL};

    snprintf(copy, sizeof(copy), "%s", line);
    argv[0] = (char *)"mlaunch";
    while (from.argc < WORDS - 1 && (argv[from.argc] = strsep(&rest, "|")))
        from.argc++;
    argv[from.argc] = NULL;
    *o = NULL;
    return options_load_from(o, &from, why);
}

#endif
