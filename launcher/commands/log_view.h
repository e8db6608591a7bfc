/* SPDX-License-Identifier: MIT */
/* log_view.h: prints a log, and what is added to it. */
#ifndef LAUNCHER_COMMANDS_LOG_VIEW_H
#define LAUNCHER_COMMANDS_LOG_VIEW_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct log_view {
    const char *path;
    int64_t lines;     /* the number of lines at the end; -1: all */
    bool follows;      /* until the job has ended */
    bool is_printable; /* what could control a terminal is replaced */
};

/* Prints to stdout. ML_ERR_SYSTEM: the log cannot be read. */
int log_view_print(const struct log_view *v, struct fault *why);

#endif
