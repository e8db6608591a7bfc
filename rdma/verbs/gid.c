/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/gid.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { IPV4_AT = 12, IPV6_BITS = 128, LINK_LOCAL_BITS = 64 };

bool gid_is_ipv4(const struct gid *g)
{
    static const uint8_t mapped[IPV4_AT] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(g->raw, mapped, sizeof(mapped)) == 0;
}

bool gid_is_link_local(const struct gid *g)
{
    return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;
}

bool gid_is_zero(const struct gid *g)
{
    static const uint8_t zero[sizeof(g->raw)];

    return memcmp(g->raw, zero, sizeof(zero)) == 0;
}

static bool bits_agree(const uint8_t *a, const uint8_t *b, int bits)
{
    int bytes = bits / 8, rest = bits % 8;

    if (memcmp(a, b, (size_t)bytes) != 0)
        return false;
    return rest == 0 || ((a[bytes] ^ b[bytes]) >> (8 - rest)) == 0;
}

bool gid_is_neighbour(const struct gid *a, const struct gid *b)
{
    /* The longer prefix: an address that is only in the wider subnet may be unreachable. */
    int bits = a->prefix > b->prefix ? a->prefix : b->prefix;

    if (gid_is_ipv4(a) != gid_is_ipv4(b) || gid_is_link_local(a) != gid_is_link_local(b))
        return false;
    if (gid_is_ipv4(a))
        return bits > 0 && bits_agree(a->raw + IPV4_AT, b->raw + IPV4_AT, bits > 32 ? 32 : bits);
    if (gid_is_link_local(a))
        return bits_agree(a->raw, b->raw, LINK_LOCAL_BITS);
    return bits > 0 && bits_agree(a->raw, b->raw, bits > IPV6_BITS ? IPV6_BITS : bits);
}

const char *gid_format(const struct gid *g, char text[GID_TEXT])
{
    if (!inet_ntop(AF_INET6, g->raw, text, GID_TEXT))
        snprintf(text, GID_TEXT, "?");
    return text;
}

static int gids_score(const struct gid *a, const struct gid *b)
{
    if (a->type != b->type || gid_is_zero(a) || gid_is_zero(b))
        return 0;
    if (a->type != GID_ROCE_V2)
        return 1;
    if (gid_is_ipv4(a) != gid_is_ipv4(b) || gid_is_link_local(a) != gid_is_link_local(b))
        return 0;
    if (gid_is_link_local(a))
        return 2;
    if (gid_is_neighbour(a, b))
        return gid_is_ipv4(a) ? GID_SHARED + 1 : GID_SHARED;
    return 3;
}

int gid_choose(struct gid_list low, struct gid_list high, int *low_at, int *high_at)
{
    int best = 0;

    for (int i = 0; i < low.count; i++) {
        if (low.only >= 0 && low.gids[i].index != low.only)
            continue;
        for (int j = 0; j < high.count; j++) {
            int score;

            if (high.only >= 0 && high.gids[j].index != high.only)
                continue;
            score = gids_score(&low.gids[i], &high.gids[j]);
            if (score > best) {
                best = score;
                *low_at = i;
                *high_at = j;
            }
        }
    }
    return best;
}
