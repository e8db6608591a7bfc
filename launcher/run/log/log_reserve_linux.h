/* SPDX-License-Identifier: MIT */
/*
 * log_reserve_linux.h: room for the last line of a log whose file system is full by then. A block
 * far behind the log's end belongs to the file from the beginning, without making it longer; giving
 * it back makes room for what is appended.
 */
#ifndef LAUNCHER_RUN_LOG_LOG_RESERVE_LINUX_H
#define LAUNCHER_RUN_LOG_LOG_RESERVE_LINUX_H

/* Returns 0, also where the file system cannot do this; ENOSPC or EDQUOT: there is no room. */
int log_reserve_take(int fd);

void log_reserve_give_back(int fd);

#endif
