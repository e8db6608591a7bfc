/* SPDX-License-Identifier: MIT */
/* wiring_answers.h: the inside of a survey (wiring_survey.h), and what the hosts' answers say of ports and of two ports as
 * the ends of one link. */
#ifndef LAUNCHER_WIRING_WIRING_ANSWERS_H
#define LAUNCHER_WIRING_WIRING_ANSWERS_H

#include "common/port_name.h"
#include "launcher/wiring/wiring_survey.h"

struct wiring_survey {
    struct wiring_survey_config config;
    json_t **devices; /* of each host: what it has */
    json_t **tries;   /* of each host: whom it reached */
    json_t *wiring;   /* [host][host] */
};

/* A port of a host's device. The name is the survey's. */
struct wiring_end {
    int host;
    const char *device;
    int port; /* 0: left open, as a hostfile may */
};
enum { WIRING_PORTS = 8 /* of one device */ };

/* Of a member of an answer; "" and 0 where it is not there. */
const char *wiring_text(const json_t *object, const char *key);
int wiring_number(const json_t *object, const char *key);

/* The device of that name in a list of descriptions, be it with a port or without; NULL. */
json_t *wiring_device_find(const json_t *devices, const char *name);
json_t *wiring_device(const struct wiring_survey *s, struct wiring_end e);
/* Of an end that is not left open; NULL: there is none. */
json_t *wiring_port(const struct wiring_survey *s, struct wiring_end e);

/* "mlx5_0" or "mlx5_0:2" as hostfiles name them; and back: with the port where else another one might be meant. */
struct wiring_end wiring_end_read(const struct wiring_survey *s, int host, const char *name);
const char *wiring_end_name(const struct wiring_survey *s, struct wiring_end e,
                            char text[PORT_NAME_TEXT]);

/* The ports that `e` may stand for: that which it names; else those of the device that are up and that --rdma-port,
 * if given, allows. How many; none is up: 0. */
int wiring_end_ports(const struct wiring_survey *s, struct wiring_end e,
                     struct wiring_end out[WIRING_PORTS]);
bool wiring_is_infiniband(const json_t *port);
bool wiring_has_ipv4(const json_t *port);
/* All ports of its device that are up. */
int wiring_ports_up(const struct wiring_survey *s, struct wiring_end e);

/* The entry of the hostfile's wiring from one host to the other; NULL: it has none. */
json_t *wiring_stated_entry(const struct wiring_survey *s, int from, int to);

/* What came of trying the way from a to b, neither left open; NULL: it was not tried. */
json_t *wiring_try(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b);

/* How two ports meet, best last. Unknown: one of them has no datagrams, so only the ranks' own check can tell. */
enum wiring_meeting {
    WIRING_NOTHING,
    WIRING_TRIED,  /* without success */
    WIRING_SHARED, /* so too, but in one subnet or fabric */
    WIRING_UNKNOWN,
    WIRING_CARRIES,
};
/* The best that ports of *a and *b can do, which then are in the places of those left open. WIRING_NOTHING: *a and
 * *b are the first ports, if any is up. */
enum wiring_meeting wiring_meet(const struct wiring_survey *s, struct wiring_end *a,
                                struct wiring_end *b);

#endif
