/* SPDX-License-Identifier: MIT */
/* attach_command.h: `mlaunch attach JOB RANK`: a command on the host of a rank, in its directory
 * and environment; on a terminal if there is one. It runs as a job of its own, so that the rank's
 * job does not depend on it. */
#ifndef LAUNCHER_ATTACH_COMMAND_H
#define LAUNCHER_ATTACH_COMMAND_H

int attach_command_run(int argc, char **argv); /* argv[0] is "attach"; returns the exit status */

#endif
