/* SPDX-License-Identifier: MIT */
/* wiring_match.h: the inside of a survey (wiring_survey.h), and which devices of two hosts are the two ends of one link. */
#ifndef LAUNCHER_WIRING_MATCH_H
#define LAUNCHER_WIRING_MATCH_H

#include "launcher/wiring_survey.h"

struct wiring_survey {
    struct wiring_survey_config config;
    json_t **devices; /* of each host: what it has */
    json_t **tries;   /* of each host: whom it reached */
    json_t *wiring;   /* [host][host] */
};

/* One link between two hosts; names are the survey's. */
struct wiring_rail {
    const char *device, *peer;
};
enum { WIRING_RAILS = 8 };

/* Rails between hosts i and j, i's in the order of its row. Stated ones must all carry traffic, each to one of
 * the other host's; else as many as carry it and are as fast as the fastest. On failure *host is the one
 * to be named. */
int wiring_match(const struct wiring_survey *s, int i, int j, struct wiring_rail *rails, int *count,
                 int *host, struct fault *why);

/* The device of that name in a list of descriptions; NULL. */
json_t *wiring_device_find(const json_t *devices, const char *name);
/* The port of a device that the runtime will take; NULL: none is up. */
json_t *wiring_port_used(const struct wiring_survey *s, const json_t *device);

/* What came of trying one way between two devices, by their ports in use; NULL: it was not tried. */
json_t *wiring_try(const struct wiring_survey *s, int from, const char *device, int to,
                   const char *peer);
bool wiring_carries(const struct wiring_survey *s, int from, const char *device, int to,
                    const char *peer);

#endif
