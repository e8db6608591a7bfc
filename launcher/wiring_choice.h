/* SPDX-License-Identifier: MIT */
/* wiring_choice.h: what a survey (wiring_survey.h) has chosen for a link, and why. */
#ifndef LAUNCHER_WIRING_CHOICE_H
#define LAUNCHER_WIRING_CHOICE_H

#include "launcher/wiring_answers.h"

enum { WIRING_CHOICE_TEXT = 640 };

/* "host a: rxe_p1 port 1 (GID 1, …) to …; port: …; GID: …" */
void wiring_choice_tell(const struct wiring_survey *s, char text[WIRING_CHOICE_TEXT],
                        struct wiring_end a, struct wiring_end b);

#endif
