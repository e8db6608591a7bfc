/* SPDX-License-Identifier: MIT */
/* self_stop.h: stops this process as Ctrl-Z does, after what its program must do before. */
#ifndef LAUNCHER_BASE_MACHINE_SELF_STOP_H
#define LAUNCHER_BASE_MACHINE_SELF_STOP_H

/* Returns when it is continued; at once if the kernel ignores the stop because no shell could
 * continue the process. */
void self_stop(void);

#endif
