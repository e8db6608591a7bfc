/* SPDX-License-Identifier: MIT */
/*
 * profile.h: what a test network consists of, as its profile has it (profile_file.h reads it):
 *
 *     [network]
 *     seed = 7
 *
 *     [kind roce]
 *     active_speed = EDR
 *     active_width = 4X
 *
 *     [device a/mlx5_0]
 *     kind = roce
 *     gids = fe80::1 10.0.0.1
 *
 *     [wire 1]
 *     ends = a/mlx5_0:1 b/mlx5_0:1
 *     rate = 100gbit
 *     delay = 1us
 *
 * profile_keys.c has all keys. An empty [kind] is a device like those of Soft-RoCE. Names between
 * sections may be used before they are explained.
 */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_H
#define RDMA_STANDIN_PROFILE_PROFILE_H

#include "rdma/standin/fabric_message.h"

enum {
    PROFILE_KEYS_MOST = 40,     /* a section's */
    PROFILE_SECTION = 49,       /* characters of a section's name that inih takes */
    PROFILE_ADDRESSES_MOST = 8, /* a port's, which has two GIDs for each */
    PROFILE_TEXT = 32,
};

enum profile_kind_of {
    PROFILE_NETWORK,
    PROFILE_KIND,
    PROFILE_DEVICE,
    PROFILE_WIRE,
    PROFILE_SWITCH,
    PROFILE_SECTIONS
};

/* The first member of what a section is read into. */
struct profile_section {
    char name[PROFILE_SECTION + 1]; /* after the word "kind" and so on */
    enum profile_kind_of kind_of;
    int line;
    int key_lines[PROFILE_KEYS_MOST]; /* by the key's place in its table; 0: not given */
};

struct profile_network {
    struct profile_section section;
    int64_t seed;
};

struct profile_kind {
    struct profile_section section;
    struct fabric_device is; /* without ports, names and numbers */
    struct fabric_port port; /* each port of such a device, without GIDs */
    char hca_type[PROFILE_TEXT], board_id[PROFILE_TEXT];
};

struct profile_port {
    union ibv_gid addresses[FABRIC_GIDS_MOST];
    int address_count;
    uint16_t lid, sm_lid;
    char netdev[PROFILE_TEXT];
};

struct profile_device {
    struct profile_section section;
    char host[FABRIC_NAME], name[FABRIC_NAME];
    char kind_name[PROFILE_SECTION + 1];
    const struct profile_kind *kind;
    uint32_t gid_types; /* bit N: enum ibv_gid_type N, of Ethernet */
    uint64_t node_guid; /* in this machine's byte order */
    struct profile_port ports[FABRIC_PORTS_MOST];
};

struct profile_end {
    char host[FABRIC_NAME], device[FABRIC_NAME];
    int port, line;
    int at; /* the device's place in the profile's list */
};

/* A wire with two ends, or a switch with its ports, each at the end of a wire to it. */
struct profile_wire {
    struct profile_section section;
    struct profile_end *ends;
    int count;
    uint64_t rate; /* bits a second; 0: no limit */
    int64_t delay_ns;
    double loss; /* share of the packets */
};

struct profile {
    char *path;
    struct profile_network network;
    struct profile_kind *kinds;
    struct profile_device *devices;
    struct profile_wire *wires; /* and switches */
    int kind_count, device_count, wire_count;
};

#endif
