/* SPDX-License-Identifier: MIT */
/* wiring_match.h: which ports of two hosts are the two ends of one link. */
#ifndef LAUNCHER_WIRING_WIRING_MATCH_H
#define LAUNCHER_WIRING_WIRING_MATCH_H

#include "launcher/wiring/wiring_answers.h"

/* One link between two hosts. */
struct wiring_rail {
    struct wiring_end mine, theirs;
};
enum { WIRING_RAILS = 8 };

/* Rails between hosts i and j, i's in the order of its row. Stated ones must all carry traffic, each to one of
 * the other host's; else as many ports as carry it and are as fast as the fastest. On failure *host is the one
 * to be named. */
int wiring_match(const struct wiring_survey *s, int i, int j, struct wiring_rail *rails, int *count,
                 int *host, struct fault *why);

#endif
