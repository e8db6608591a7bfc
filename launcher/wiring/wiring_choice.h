/* SPDX-License-Identifier: MIT */
/* wiring_choice.h: what a survey (wiring_survey.h) has chosen for a link, and why. */
#ifndef LAUNCHER_WIRING_WIRING_CHOICE_H
#define LAUNCHER_WIRING_WIRING_CHOICE_H

#include "launcher/wiring/wiring_answers.h"

enum { WIRING_CHOICE_TEXT = 640 };

/* Each: whether there is anything to say.
 * "host a: rxe_p1 port 1 (GID 1, …) to …; port: …; GID: …" */
bool wiring_choice_tell(const struct wiring_survey *s, char text[WIRING_CHOICE_TEXT],
                        struct wiring_end a, struct wiring_end b);
/* What works, but is hardly meant. */
bool wiring_choice_warn(const struct wiring_survey *s, char text[WIRING_CHOICE_TEXT],
                        struct wiring_end a, struct wiring_end b);

#endif
