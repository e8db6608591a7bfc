/* SPDX-License-Identifier: MIT */
/*
 * wiring_answers.h: what mlaunch-probe has answered on every host (doc/protocol.md, "Wires"),
 * checked once and kept as structs. The answers come from other machines: all that is kept is
 * bounded, and an answer with a malformed member is refused as a whole.
 */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_ANSWERS_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_WIRING_ANSWERS_H

#include "common/fault.h"
#include "common/text/port_name.h"

#include <jansson.h>
#include <stdbool.h>

enum { WIRING_GID_TEXT = 46, WIRING_IPV4_TEXT = 16, WIRING_STATE_TEXT = 32 };

struct wiring_gid {
    int index, prefix;           /* prefix: bits of the subnet; 0: unknown */
    bool is_link_local;          /* RoCE v2 only: in version 1 any address serves as well */
    char text[WIRING_GID_TEXT];  /* "fe80::1"; "": there is no GID */
    char ipv4[WIRING_IPV4_TEXT]; /* "10.0.0.1"; "": it is not an IPv4 address */
};

struct wiring_port {
    int number; /* from 1 */
    bool is_active, is_infiniband;
    bool is_untried;        /* active, but it cannot send datagrams */
    const char *link_layer; /* "Ethernet", "InfiniBand" or "": a constant */
    char state[WIRING_STATE_TEXT];
    double gigabits; /* per second; 0: unknown */
    int active_mtu;  /* bytes; 0: unknown */
    int lid;
    struct wiring_gid *gids;
    int gid_count;
};

/* The result of trying one port of a device with a port of another host. */
struct wiring_try {
    int port, peer_port;             /* numbers */
    int host, device;                /* the peer's, indices */
    int mtu;                         /* bytes of the long datagrams */
    bool is_shared;                  /* both are in one subnet or fabric */
    bool carries, carries_long;      /* datagrams, short and long, came through both ways */
    struct wiring_gid gid, peer_gid; /* none on InfiniBand, which routes by LID */
    char *error;                     /* why no datagram could be sent, or NULL */
};

struct wiring_device {
    char name[PORT_NAME_DEVICE];
    char *error, *try_error; /* what is wrong with it, found at first and while trying; or NULL */
    struct wiring_port *ports;
    int port_count;
    struct wiring_try *tries;
    int try_count;
};

struct wiring_host {
    struct wiring_device *devices;
    int device_count;
};

/* Read the answers of hosts[host]; `devices` is the array in the answer. ML_ERR_REFUSED: a member
 * is malformed, and the sentence says which, but not the host's name; then nothing has changed. The
 * tries can be read when all hosts' devices have been. */
int wiring_answers_read_devices(struct wiring_host *hosts, int host, const json_t *devices,
                                struct fault *why);
int wiring_answers_read_tries(struct wiring_host *hosts, int count, int host, const json_t *devices,
                              struct fault *why);
void wiring_answers_clear(struct wiring_host *h);

/* Index of the device of that name; -1: the host has none. */
int wiring_answers_device(const struct wiring_host *h, const char *name);
/* The port of that number; NULL: the device has none. */
const struct wiring_port *wiring_answers_port(const struct wiring_device *d, int number);
bool wiring_answers_has_ipv4(const struct wiring_port *p);

#endif
