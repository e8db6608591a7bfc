/* SPDX-License-Identifier: MIT */
/* wiring_end.h: ports as the ends of links: which an end may be, how two of them meet, and how they
 * are written. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_END_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_END_H

#include "launcher/run/rdma_topology/wiring_answers.h"
#include "launcher/run/rdma_topology/wiring_config.h"

/* All that a wiring follows from. */
struct wiring_facts {
    struct wiring_config config;
    struct wiring_host *hosts;
};

/* A port of a host's device, or any port of the device. */
struct wiring_end {
    int host, device; /* indices */
    int port;         /* number; 0: left open, as a hostfile may */
};
enum { WIRING_PORTS = 8 /* of one device, at most */ };

const struct wiring_device *wiring_end_device(const struct wiring_facts *f, struct wiring_end e);
/* An empty port if `e` is left open or there is none of that number. */
const struct wiring_port *wiring_end_port(const struct wiring_facts *f, struct wiring_end e);

/* The ends that the stated wiring names from one host to another one; how many, 0: none. */
int wiring_end_stated(const struct wiring_facts *f, int from, int to,
                      struct wiring_end out[RDMA_RAILS]);

/* The active ports that `e` may be: the one that it names, else those of its device that
 * --rdma-port allows. How many. */
int wiring_end_ports(const struct wiring_facts *f, struct wiring_end e,
                     struct wiring_end out[WIRING_PORTS]);
/* How many ports of its device are active. */
int wiring_end_active(const struct wiring_facts *f, struct wiring_end e);

/* The result of trying the way from a to b, neither of them left open; NULL: it was not tried. */
const struct wiring_try *wiring_end_try(const struct wiring_facts *f, struct wiring_end a,
                                        struct wiring_end b);

/* How two ports meet, best last. */
enum wiring_meeting {
    WIRING_NOTHING, /* they were not tried */
    WIRING_TRIED,   /* without success */
    WIRING_SHARED,  /* without success, although they are in one subnet or fabric */
    WIRING_UNKNOWN, /* one of them can't send datagrams: only the ranks' own check can tell */
    WIRING_CARRIES,
};
/* The best meeting of a port of *a with one of *b, which become these ports. With WIRING_NOTHING
 * they become the first active ports, if there are any. */
enum wiring_meeting wiring_end_meet(const struct wiring_facts *f, struct wiring_end *a,
                                    struct wiring_end *b);

/* Each returns `text`. */
enum { WIRING_PORT_TEXT = PORT_NAME_DEVICE + 16, WIRING_END_TEXT = 160 };
/* "mlx5_0" or "mlx5_0:2", as in a hostfile: with the port where another one might be meant. */
const char *wiring_end_name(const struct wiring_facts *f, struct wiring_end e,
                            char text[PORT_NAME_TEXT]);
/* "mlx5_0 port 2"; "rxe_p1" if the device has only one. */
const char *wiring_end_words(const struct wiring_facts *f, struct wiring_end e,
                             char text[WIRING_PORT_TEXT]);
/* "rxe_p1 port 1 (GID 1, ::ffff:10.0.0.1)"; without the GID if that is NULL or empty. */
const char *wiring_end_full(const struct wiring_facts *f, struct wiring_end e,
                            const struct wiring_gid *gid, char text[WIRING_END_TEXT]);

#endif
