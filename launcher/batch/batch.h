/* SPDX-License-Identifier: MIT */
/* batch.h: mlaunch batch: a job script for a batch system, written and submitted. */
#ifndef LAUNCHER_BATCH_BATCH_H
#define LAUNCHER_BATCH_BATCH_H

/* argv[0] is "batch". Returns mlaunch's exit status; what is printed is not flushed yet. */
int batch_main(int argc, char **argv);

#endif
