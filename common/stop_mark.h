/* SPDX-License-Identifier: MIT */
/*
 * stop_mark.h: JOB_DIR/stop, by which an agent tells its ranks that the job has been asked to stop
 * (ml_should_stop): one uint32_t, 0 or 1. The ranks map it, so looking at it is no system call.
 * Whoever needs it first makes it, the agent or a rank.
 */
#ifndef COMMON_STOP_MARK_H
#define COMMON_STOP_MARK_H

#define STOP_MARK_FILE  "stop"
#define STOP_MARK_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)

#endif
