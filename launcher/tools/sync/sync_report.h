/* SPDX-License-Identifier: MIT */
/* sync_report.h: what mlaunch sync says at its end. */
#ifndef LAUNCHER_TOOLS_SYNC_SYNC_REPORT_H
#define LAUNCHER_TOOLS_SYNC_SYNC_REPORT_H

#include "launcher/run/spread/sync_host.h"

enum sync_purpose { SYNC_COPIES, SYNC_CHECKS, SYNC_REHEARSES };

struct sync_outcome {
    const struct sync_source *source;
    const struct sync_host *hosts;
    int count;
    enum sync_purpose purpose;
    bool is_git, is_quiet;
    int64_t ms;    /* it took */
    uint64_t lost; /* files that could not be read here */
};

/* Prints the result to standard output, as JSON if `is_json`, and returns the exit status. */
int sync_report_print(const struct sync_outcome *o, bool is_json);

#endif
