/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/rail_match.h"

#include <string.h>

static int ends_score(const struct rail_end *low, const struct rail_end *high)
{
    int low_at, high_at;

    if (low->link_layer != high->link_layer)
        return 0;
    return gid_choose((struct gid_list){low->gids, low->gid_count, low->gid_index},
                      (struct gid_list){high->gids, high->gid_count, high->gid_index}, &low_at,
                      &high_at);
}

void rail_match(const struct rail_end *low, const struct rail_end *high, int count,
                int match[RDMA_RAILS])
{
    bool used[RDMA_RAILS] = {false};

    for (int i = 0; i < count; i++) {
        match[i] = -1;
        for (int j = 0; j < count && match[i] < 0; j++)
            if (!used[j] && ends_score(&low[i], &high[j]) >= GID_SHARED)
                match[i] = j;
        if (match[i] >= 0)
            used[match[i]] = true;
    }
    for (int i = 0, j = 0; i < count; i++) {
        if (match[i] >= 0)
            continue;
        while (used[j])
            j++;
        match[i] = j;
        used[j] = true;
    }
}

bool rail_match_is_valid(const struct rail_end *ends, int count)
{
    for (int i = 0; i < count; i++)
        if (ends[i].gid_count < 0 || ends[i].gid_count > GID_MOST ||
            !memchr(ends[i].device, 0, sizeof(ends[i].device)))
            return false;
    return true;
}
