/* SPDX-License-Identifier: MIT */
/* signal_text.h: how messages name signals. Any thread. */
#ifndef COMMON_TEXT_SIGNAL_TEXT_H
#define COMMON_TEXT_SIGNAL_TEXT_H

enum { SIGNAL_TEXT = 96 };

/* "KILL" for 9; NULL: a real-time signal, or none. */
const char *signal_text_name(int signal);

/* "was killed by signal 9 (Killed)". */
const char *signal_text_killed(char text[SIGNAL_TEXT], int signal);

#endif
