/* SPDX-License-Identifier: MIT */
/*
 * topology_answers.h: what mlaunch-probe has answered on every host (doc/protocol.md, "Wires"),
 * checked once and kept as structs. The answers come from other machines: all that is kept is
 * bounded, and an answer with a malformed member is refused as a whole.
 */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_ANSWERS_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_ANSWERS_H

#include "common/fault.h"
#include "common/text/port_name.h"

#include <jansson.h>
#include <stdbool.h>

enum { TOPOLOGY_GID_TEXT = 46, TOPOLOGY_IPV4_TEXT = 16, TOPOLOGY_STATE_TEXT = 32 };

struct topology_gid {
    int index, prefix;             /* prefix: bits of the subnet; 0: unknown */
    bool is_link_local;            /* RoCE v2 only: in version 1 any address serves as well */
    char text[TOPOLOGY_GID_TEXT];  /* "fe80::1"; "": there is no GID */
    char ipv4[TOPOLOGY_IPV4_TEXT]; /* "10.0.0.1"; "": it is not an IPv4 address */
};

struct topology_port {
    int number; /* from 1 */
    bool is_active, is_infiniband;
    bool is_untried;        /* active, but it cannot send datagrams */
    const char *link_layer; /* "Ethernet", "InfiniBand" or "": a constant */
    char state[TOPOLOGY_STATE_TEXT];
    double gigabits; /* per second; 0: unknown */
    int active_mtu;  /* bytes; 0: unknown */
    int lid;
    struct topology_gid *gids;
    int gid_count;
};

/* The result of trying one port of a device with a port of another host. */
struct topology_try {
    int port, peer_port;               /* numbers */
    int host, device;                  /* the peer's, indices */
    int mtu;                           /* bytes of the long datagrams */
    bool is_shared;                    /* both are in one subnet or fabric */
    bool carries, carries_long;        /* datagrams, short and long, came through both ways */
    struct topology_gid gid, peer_gid; /* none on InfiniBand, which routes by LID */
    char *error;                       /* why no datagram could be sent, or NULL */
};

struct topology_device {
    char name[PORT_NAME_DEVICE];
    char *error, *try_error; /* what is wrong with it, found at first and while trying; or NULL */
    struct topology_port *ports;
    int port_count;
    struct topology_try *tries;
    int try_count;
};

struct topology_host {
    struct topology_device *devices;
    int device_count;
};

/* Read the answers of hosts[host]; `devices` is the array in the answer. ML_ERR_REFUSED: a member
 * is malformed, and the sentence says which, but not the host's name; then nothing has changed. The
 * tries can be read when all hosts' devices have been. */
int topology_answers_read_devices(struct topology_host *hosts, int host, const json_t *devices,
                                  struct fault *why);
int topology_answers_read_tries(struct topology_host *hosts, int count, int host,
                                const json_t *devices, struct fault *why);
void topology_answers_clear(struct topology_host *h);

/* Index of the device of that name; -1: the host has none. */
int topology_answers_device(const struct topology_host *h, const char *name);
/* The port of that number; NULL: the device has none. */
const struct topology_port *topology_answers_port(const struct topology_device *d, int number);
bool topology_answers_has_ipv4(const struct topology_port *p);

#endif
