/* SPDX-License-Identifier: MIT */
/*
 * status.h: the exit statuses that mlaunch itself gives, as timeout(1), env(1) and POSIX shells use
 * them. Any other status is that of the first rank that failed: mlaunch(1), EXIT STATUS.
 */
#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

enum {
    STATUS_TIMEOUT = 124,        /* --timeout expired */
    STATUS_OURS = 125,           /* mlaunch or its agent failed, not the program */
    STATUS_NOT_EXECUTABLE = 126, /* the program exists but cannot be executed */
    STATUS_NOT_FOUND = 127,      /* there is no such program */
    STATUS_SIGNAL = 128,         /* plus the number of the signal that ended the program */
};

#endif
