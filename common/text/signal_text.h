/* SPDX-License-Identifier: MIT */
/* signal_text.h: how messages name the signal that ended a process. */
#ifndef COMMON_TEXT_SIGNAL_TEXT_H
#define COMMON_TEXT_SIGNAL_TEXT_H

enum { SIGNAL_TEXT = 96 };

/* "was killed by signal 9 (Killed)". Any thread. */
const char *signal_text_killed(char text[SIGNAL_TEXT], int signal);

#endif
