/* SPDX-License-Identifier: MIT */
/* reduce_binomial.c: up a binomial tree, all of the vector at each of log2(size) steps. */
#include "runtime/collective/reduce.h"

#include "runtime/steps/steps.h"

/* Places are counted from the root. In round k those with bit k set hand over what they have and are
 * done; the others reduce it. Only the root writes to out. */
int reduce_tree(struct group *g, const struct team *m, const void *in, void *out, size_t size,
                int root, void *work, struct fault *why)
{
    int n = m->size, me = (m->place - root + n) % n, bit, rc = 0;
    const void *mine = in;
    void *sum = me ? work : out;

    for (bit = 1; !rc && bit < n && !(me & bit); bit *= 2) {
        struct transfer take;

        if (me + bit >= n)
            continue;
        take = reduce_from(g, team_rank(m, (me + bit + root) % n), sum, mine, size);
        rc = transfer_run(g, &take, 1, why);
        mine = sum;
    }
    if (!rc && me) {
        struct transfer give = send_to(team_rank(m, (me - bit + root) % n), mine, size);

        rc = transfer_run(g, &give, 1, why);
    }
    return rc;
}

int reduce_binomial(struct group *g, const void *in, void *out, size_t size, int root,
                    struct fault *why)
{
    const struct team all = {.size = g->size, .place = g->rank};
    void *work = NULL;
    int rc = g->rank == root ? 0 : scratch_take(g, &work, size, why);

    return rc ? rc : reduce_tree(g, &all, in, out, size, root, work, why);
}
