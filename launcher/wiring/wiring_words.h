/* SPDX-License-Identifier: MIT */
/* wiring_words.h: how a survey (wiring_survey.h) writes ports and devices in its sentences. Each returns `text`, but for what
 * is said of no devices. */
#ifndef LAUNCHER_WIRING_WIRING_WORDS_H
#define LAUNCHER_WIRING_WIRING_WORDS_H

#include "launcher/wiring/wiring_answers.h"

enum { WIRING_PORT_TEXT = PORT_NAME_DEVICE + 16, WIRING_END_TEXT = 160, WIRING_LIST_TEXT = 280 };

/* "mlx5_0 port 2"; where the device has no other one: "rxe_p1". */
const char *wiring_words_port(const struct wiring_survey *s, char text[WIRING_PORT_TEXT],
                              struct wiring_end e);
/* "rxe_p1 port 1 (GID 1, ::ffff:10.0.0.1)"; `gid` as in a try, or NULL. */
const char *wiring_words_end(const struct wiring_survey *s, char text[WIRING_END_TEXT],
                             struct wiring_end e, const json_t *gid);
/* "rxe_p1 (10.0.0.1/24), mlx5_0 port 1 (10.0.1.1/24), mlx5_0 port 2 (down)" */
const char *wiring_words_devices(const struct wiring_survey *s, char text[WIRING_LIST_TEXT],
                                 int host);

#endif
