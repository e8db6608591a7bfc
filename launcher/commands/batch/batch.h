/* SPDX-License-Identifier: MIT */
/* batch.h: mlaunch batch writes a job script for a batch system, and submits it. */
#ifndef LAUNCHER_COMMANDS_BATCH_BATCH_H
#define LAUNCHER_COMMANDS_BATCH_BATCH_H

/* argv[0] is "batch". Prints errors itself and returns the exit status for mlaunch. stdout is not
 * flushed. */
int batch_main(int argc, char **argv);

#endif
