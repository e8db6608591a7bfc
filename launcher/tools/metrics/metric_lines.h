/* SPDX-License-Identifier: MIT */
/*
 * metric_lines.h: metrics that a program of the user's has printed, checked line by line: a line
 * that Prometheus could not read, or that another exporter may also have, would cost the whole
 * page.
 */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_LINES_H
#define LAUNCHER_TOOLS_METRICS_METRIC_LINES_H

#include "common/fault.h"

#include <stddef.h>

/* What every name has to begin with: one of these. */
#define METRIC_LINES_PREFIXES "mlaunch_gpu_ or mlaunch_local_"

struct metric_lines {
    char *
        text; /* the lines that are good, family by family, each with a HELP; the caller frees it */
    int refused;         /* how many lines are not */
    int first;           /* the number of the first of them, from 1 */
    struct fault reason; /* what is wrong with it */
};

/* Checks all lines of `printed`, which it changes. A line is blank, a comment, which is left out
 * unless it is HELP or TYPE, or "name{labels} value" without a time. The same series twice is also
 * refused. ML_ERR_MEMORY. */
int metric_lines_check(struct metric_lines *out, char *printed, struct fault *why);

#endif
