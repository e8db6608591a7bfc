/* SPDX-License-Identifier: MIT */
/*
 * ports.h: the hosts, devices and ports of a running test network: their states, addresses and
 * counters, and which port a segment is for.
 *
 * A port is ACTIVE unless its cable is unplugged or it was set down. Whether it can be heard is
 * another matter: a port that is one-way, or whose host is gone, looks well to everybody.
 */
#ifndef RDMA_STANDIN_FABRIC_PORTS_H
#define RDMA_STANDIN_FABRIC_PORTS_H

#include "common/fault.h"
#include "rdma/standin/profile/profile.h"

/* One direction of a wire. */
struct ports_lane {
    uint64_t rate; /* bits a second; 0: no limit */
    int64_t delay_ns;
    double loss;     /* share of the packets */
    int64_t busy_ns; /* clock_ns(): until then it sends what it has */
    int64_t longest; /* bytes of data: longer packets are lost; 0: none is too long */
};

/* As the files of ports/N/counters have them, but for the data, which is in bytes here. */
struct ports_counters {
    uint64_t sent_bytes, sent_packets;
    uint64_t received_bytes, received_packets;
    uint64_t errors;   /* packets that were lost on the wire to this port */
    uint64_t discards; /* packets that this port could not send */
    uint64_t downs;    /* how often its link went down */
};

struct ports_host {
    char name[FABRIC_NAME];
    bool is_gone;
};

struct ports_port {
    struct ports_device *device;
    struct fabric_port *is; /* as programs see it */
    const struct profile_port *profile;
    int number;               /* the device's, from 1 on */
    int index;                /* among all, from 0 on */
    int network;              /* ports of one network reach each other; -1: this one reaches none */
    struct ports_port *other; /* at the other end of its wire; NULL: a switch, or nothing */
    struct ports_lane out;
    struct ports_lane in; /* from the switch; of a wire it costs nothing */
    bool is_unplugged, is_down, is_one_way;
    struct ports_counters counters;
    bool is_counted; /* the counters have changed since their files were written */
};

struct ports_device {
    struct ports_host *host;
    const struct profile_device *profile;
    const char *name;
    int verbs_number;        /* N of the host's uverbsN */
    struct fabric_device is; /* as programs see it, without their contexts' numbers */
    struct ports_port ports[FABRIC_PORTS_MOST];
    int port_count;
};

/* A port is not as it was: its state or its GIDs. `event` is what programs get for that. */
struct ports_change {
    struct ports_port *port;
    enum ibv_event_type event;
};

/* The changes have come at one time: both ends of a cable. */
typedef void ports_change_fn(void *arg, const struct ports_change *changes, int count);

struct ports {
    struct ports_host *hosts;
    struct ports_device *devices;
    int host_count, device_count, port_count;
    ports_change_fn *on_change;
    void *arg;
};

/* The profile has to outlive the ports. ML_ERR_MEMORY. */
int ports_open(struct ports **out, const struct profile *p, struct fault *why);
void ports_close(struct ports *p); /* takes NULL */

/* NULL with a sentence: there is none by that name. */
struct ports_host *ports_find_host(const struct ports *p, const char *name, struct fault *why);
struct ports_device *ports_find_device(const struct ports *p, const char *text, struct fault *why);
struct ports_port *ports_find(const struct ports *p, const char *text, struct fault *why);

/* The port that a segment from `from` is for: it has the GID, or if that is zero the LID. NULL: no
 * port that `from` reaches has it. */
struct ports_port *ports_route(const struct ports *p, struct ports_port *from,
                               const union ibv_gid *to, uint16_t lid);

/* Whether the port can send now. */
bool ports_can_send(const struct ports_port *p);
/* Whether what `from` sends arrives at `to`, apart from losses. */
bool ports_can_pass(const struct ports_port *from, const struct ports_port *to);

void ports_set_unplugged(struct ports *p, struct ports_port *port, bool is_unplugged);
void ports_set_down(struct ports *p, struct ports_port *port, bool is_down);

/* ML_ERR_ARGUMENT: another port of the network has that GID. */
int ports_set_gid(struct ports *p, struct ports_port *port, int index, const union ibv_gid *gid,
                  struct fault *why);

#endif
