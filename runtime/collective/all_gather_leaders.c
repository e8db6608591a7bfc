/* SPDX-License-Identifier: MIT */
/*
 * all_gather_leaders.c: a host's shares are gathered by its leader, the leaders exchange them, one message for each
 * other host, and hand out all: for short shares. (J. Träff, "Efficient Allgather for Regular SMP-Clusters", 2006.)
 */
#include "runtime/collective/all_gather.h"

#include "runtime/steps/leaders.h"

#include <string.h>

/* Into `work`, where shares stand host by host. */
static int gather_host(struct pipeline *p, const char *mine, char *work, size_t size,
                       struct fault *why)
{
    const struct hierarchy *h = p->group->hierarchy;
    char *ours = at(work, (size_t)h->first[h->leaders.place] * size);
    int n = 0;

    if (size)
        memcpy(ours, mine, size); /* a leader has place 0 */
    for (int i = 1; i < h->local.size; i++)
        p->t[n++] = recv_from(h->local.ranks[i], at(ours, (size_t)i * size), size);
    return transfer_run(p->group, p->t, n, why);
}

static int exchange_hosts(struct pipeline *p, char *work, size_t size, struct fault *why)
{
    const struct hierarchy *h = p->group->hierarchy;
    const int *ours = h->first + h->leaders.place;
    int n = 0;

    for (int j = 1; j < h->leaders.size; j++) {
        int to = team_after(&h->leaders, -j), from = team_after(&h->leaders, j);
        const int *theirs = h->first + from;

        p->t[n++] = send_to(team_rank(&h->leaders, to), at(work, (size_t)ours[0] * size),
                            (size_t)(ours[1] - ours[0]) * size);
        p->t[n++] = recv_from(team_rank(&h->leaders, from), at(work, (size_t)theirs[0] * size),
                              (size_t)(theirs[1] - theirs[0]) * size);
    }
    return transfer_run(p->group, p->t, n, why);
}

int all_gather_leaders(struct group *g, char *out, size_t size, struct fault *why)
{
    const struct hierarchy *h = g->hierarchy;
    int head = leaders_head(h, h->leaders.place, -1), rc;
    char *mine = at(out, (size_t)g->rank * size);
    struct pipeline p;
    void *work;

    rc =
        pipeline_open(&p, g, 2 * g->size, &work, g->rank == head ? (size_t)g->size * size : 0, why);
    if (rc)
        return rc;
    if (g->rank == head) {
        rc = gather_host(&p, mine, work, size, why);
        if (!rc)
            rc = exchange_hosts(&p, work, size, why);
        for (int i = 0; i < g->size && !rc && size; i++)
            memcpy(out + (size_t)h->by_host[i] * size, (char *)work + (size_t)i * size, size);
    } else {
        p.t[0] = send_to(head, mine, size);
        rc = transfer_run(g, p.t, 1, why);
    }
    return rc ? rc : leaders_spread(&p, head, out, (size_t)g->size * size, why);
}
