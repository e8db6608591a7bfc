/* SPDX-License-Identifier: MIT */
/*
 * gid.h: the addresses of a RoCE port, and which two of them a pair of ports should use. Pure
 * functions: both ends compute the same choice from what both have published.
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
    uint8_t prefix; /* bits of its network device's subnet; of an IPv4 one counted within its 32.
                       0: unknown */
};

bool gid_is_ipv4(const struct gid *g);       /* ::ffff:a.b.c.d */
bool gid_is_link_local(const struct gid *g); /* fe80:: */
bool gid_is_zero(const struct gid *g);
/* One subnet, going by both ends' prefixes, as far as they are known. */
bool gid_is_neighbour(const struct gid *a, const struct gid *b);
const char *gid_format(const struct gid *g, char text[GID_TEXT]);

struct gid_list {
    const struct gid *gids;
    int count;
    int only; /* the index that its user named, or -1 */
};

/* Which of the lower rank's GIDs and of the higher rank's to use, by their places in the lists: RoCE v2 with IPv4
 * addresses in a shared subnet first, then IPv6 ones, then IPv4 ones that a router may join, then
 * link-local ones, RoCE v1 last. False: there is no such pair. */
bool gid_choose(struct gid_list low, struct gid_list high, int *low_at, int *high_at);

/* How well the best pair fits, 0: not at all; GID_SHARED and more: a shared subnet. */
enum { GID_SHARED = 4 };
int gid_score(struct gid_list low, struct gid_list high);

#endif
