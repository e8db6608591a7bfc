/* SPDX-License-Identifier: MIT */
/*
 * gdb_windows.h: what --gdb does once the ranks have started. On a terminal the ranks wait stopped,
 * and each gets a window of tmux in which `mlaunch attach` runs gdb. Otherwise each runs under
 * gdbserver, and the user is told how to connect.
 */
#ifndef LAUNCHER_GDB_WINDOWS_H
#define LAUNCHER_GDB_WINDOWS_H

#include "launcher/run/job/job.h"

/* All borrowed: for as long as the job runs. */
struct gdb_windows {
    const struct options *options; /* by which `mlaunch attach` also finds the hosts */
    const struct plan *plan;
    const char *id; /* the job's */
    bool has_begun; /* after a restart the old session's windows are there still */
};

/* For job_run, if the plan has --gdb. `w` must outlive the job. */
struct job_config gdb_windows_config(struct gdb_windows *w);

#endif
