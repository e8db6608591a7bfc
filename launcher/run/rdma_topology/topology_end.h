/* SPDX-License-Identifier: MIT */
/* topology_end.h: ports as the ends of links: which an end may be, how two of them meet, and how
 * they are written. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_END_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_END_H

#include "common/rdma_choice.h"
#include "launcher/run/rdma_topology/topology_answers.h"

#include <jansson.h>
#include <stdbool.h>

/* Between which hosts a wiring is wanted, and what the user says about it. All is kept by
 * reference; of `stated` a reference is taken. */
struct topology_config {
    const char *const *names; /* the hosts' */
    int count;
    const char *source; /* where `stated` is from: "hostfile h.json" */
    json_t *stated;     /* [host][host]: list of devices ("x", "x:2") or null; NULL: not stated */
    bool local_net;     /* ranks of one host also meet over a device */
    struct rdma_choice rdma;
};

/* All that a wiring follows from. */
struct topology_facts {
    struct topology_config config;
    struct topology_host *hosts;
};

/* A port of a host's device, or any port of the device. */
struct topology_end {
    int host, device; /* indices */
    int port;         /* number; 0: left open, as a hostfile may */
};
enum { TOPOLOGY_PORTS = 8 /* on one device, at most */ };

const struct topology_device *topology_end_device(const struct topology_facts *f,
                                                  struct topology_end e);
/* An empty port if `e` is left open or there is none of that number. */
const struct topology_port *topology_end_port(const struct topology_facts *f,
                                              struct topology_end e);

/* The ends that the stated wiring names from one host to another one; how many, 0: none. */
int topology_end_stated(const struct topology_facts *f, int from, int to,
                        struct topology_end out[RDMA_RAILS]);

/* The active ports that `e` may be: the one that it names, else those of its device that
 * --rdma-port allows. How many. */
int topology_end_ports(const struct topology_facts *f, struct topology_end e,
                       struct topology_end out[TOPOLOGY_PORTS]);
/* How many ports of its device are active. */
int topology_end_active(const struct topology_facts *f, struct topology_end e);

/* The result of trying the way from a to b, neither of them left open; NULL: it was not tried. */
const struct topology_try *topology_end_try(const struct topology_facts *f, struct topology_end a,
                                            struct topology_end b);

/* How two ports meet, best last. */
enum topology_meeting {
    TOPOLOGY_NOTHING, /* they were not tried */
    TOPOLOGY_TRIED,   /* without success */
    TOPOLOGY_SHARED,  /* without success, although they are in one subnet or fabric */
    TOPOLOGY_UNKNOWN, /* one of them can't send datagrams: only the ranks' own check can tell */
    TOPOLOGY_CARRIES,
};
/* The best meeting of a port of *a with one of *b, which become these ports. With TOPOLOGY_NOTHING
 * they become the first active ports, if there are any. */
enum topology_meeting topology_end_meet(const struct topology_facts *f, struct topology_end *a,
                                        struct topology_end *b);

/* Each returns `text`. */
enum { TOPOLOGY_PORT_TEXT = PORT_NAME_DEVICE + 16, TOPOLOGY_END_TEXT = 160 };
/* "mlx5_0" or "mlx5_0:2", as in a hostfile: with the port where another one might be meant. */
const char *topology_end_name(const struct topology_facts *f, struct topology_end e,
                              char text[PORT_NAME_TEXT]);
/* "mlx5_0 port 2"; "rxe_p1" if the device has only one. */
const char *topology_end_words(const struct topology_facts *f, struct topology_end e,
                               char text[TOPOLOGY_PORT_TEXT]);
/* "rxe_p1 port 1 (GID 1, ::ffff:10.0.0.1)"; without the GID if that is NULL or empty. */
const char *topology_end_full(const struct topology_facts *f, struct topology_end e,
                              const struct topology_gid *gid, char text[TOPOLOGY_END_TEXT]);

#endif
