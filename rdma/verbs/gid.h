/* SPDX-License-Identifier: MIT */
/*
 * gid.h: the addresses of a RoCE port, and the choice of the two that a pair of ports uses. These
 * are pure functions: both ends compute the same choice from what they have published.
 */
#ifndef RDMA_VERBS_GID_H
#define RDMA_VERBS_GID_H

#include <stdbool.h>
#include <stdint.h>

enum gid_type { GID_INFINIBAND, GID_ROCE_V1, GID_ROCE_V2 };
enum { GID_MOST = 24, GID_TEXT = 48 };

struct gid {
    uint8_t raw[16];
    uint16_t index; /* in the port's table */
    uint8_t type;   /* enum gid_type */
    uint8_t prefix; /* length in bits of its subnet's prefix, for IPv4 at most 32; 0: unknown */
};

bool gid_is_ipv4(const struct gid *g);       /* ::ffff:a.b.c.d */
bool gid_is_link_local(const struct gid *g); /* fe80:: */
bool gid_is_zero(const struct gid *g);
/* True if both are in one subnet, according to the prefixes that are known. */
bool gid_is_neighbour(const struct gid *a, const struct gid *b);
const char *gid_format(const struct gid *g, char text[GID_TEXT]);

struct gid_list {
    const struct gid *gids;
    int count;
    int only; /* the index that the user chose, or -1 */
};

/* Chooses the lower rank's GID and the higher rank's; stores their positions in the lists. The
 * order of preference: RoCE v2 with IPv4 addresses in one subnet, with IPv6 addresses in one
 * subnet, with addresses in two subnets, with link-local addresses; then RoCE v1. Returns how well
 * the pair fits. GID_SHARED or more: in one subnet; 0: no pair fits, and nothing is stored. */
enum { GID_SHARED = 4 };
int gid_choose(struct gid_list low, struct gid_list high, int *low_at, int *high_at);

#endif
