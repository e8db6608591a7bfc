/* SPDX-License-Identifier: MIT */
/* wiring_sentence.h: what is wrong with the wiring that a survey (wiring_survey.h) has looked at, in words. *host: the one that the sentence is
 * about, whose name whoever prints it puts in front. */
#ifndef LAUNCHER_WIRING_WIRING_SENTENCE_H
#define LAUNCHER_WIRING_WIRING_SENTENCE_H

#include "launcher/wiring/wiring_answers.h"

/* This end was stated to lead to host j, and doesn't; its port may be left open. */
int wiring_sentence_astray(const struct wiring_survey *s, struct wiring_end e, int j, int *host,
                           struct fault *why);
/* Nothing leads from i to j. */
int wiring_sentence_no_wire(const struct wiring_survey *s, int i, int j, int *host,
                            struct fault *why);
/* Short datagrams come through, long ones don't. */
int wiring_sentence_narrow(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b,
                           int *host, struct fault *why);
/* --mtu is more than that port's active one. */
int wiring_sentence_mtu(const struct wiring_survey *s, struct wiring_end e, int *host,
                        struct fault *why);
int wiring_sentence_no_port(const struct wiring_survey *s, int host, struct fault *why);

#endif
