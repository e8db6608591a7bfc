/* SPDX-License-Identifier: MIT */
/* wiring_sentence.h: what a survey (wiring_survey.h) has to say, in words. *host: the one that the sentence is
 * about, whose name whoever prints it puts in front. */
#ifndef LAUNCHER_WIRING_SENTENCE_H
#define LAUNCHER_WIRING_SENTENCE_H

#include "launcher/wiring_match.h"

enum { WIRING_TEXT = 640 };

/* Host i's device was stated to lead to host j, and doesn't. */
int wiring_sentence_astray(const struct wiring_survey *s, int i, const char *device, int j,
                           int *host, struct fault *why);
/* Nothing leads from i to j. */
int wiring_sentence_no_wire(const struct wiring_survey *s, int i, int j, int *host,
                            struct fault *why);
/* Short datagrams come through, long ones don't. */
int wiring_sentence_narrow(const struct wiring_survey *s, int i, const char *device, int j,
                           const char *peer, int *host, struct fault *why);
int wiring_sentence_no_port(const struct wiring_survey *s, int host, struct fault *why);

/* "host a: rxe_p1 port 1 (GID 1, …) to …": what was chosen and why. */
void wiring_sentence_link(const struct wiring_survey *s, char text[WIRING_TEXT], int i,
                          const char *device, int j, const char *peer);

#endif
