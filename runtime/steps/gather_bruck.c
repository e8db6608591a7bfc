/* SPDX-License-Identifier: MIT */
#include "runtime/steps/gather_bruck.h"

int gather_bruck(struct pipeline *p, const struct team *m, char *out, const struct piece *shares,
                 struct fault *why)
{
    int rc = 0;

    for (int have = 1; !rc && have < m->size; have *= 2) {
        int more = have < m->size - have ? have : m->size - have, n = 0;
        int to = team_rank(m, team_after(m, -have)), from = team_rank(m, team_after(m, have));

        for (int i = 0; i < more; i++) {
            struct piece mine = shares[team_after(m, i)];
            struct piece theirs = shares[team_after(m, have + i)];

            p->t[n++] = send_to(to, buffer_at(out, mine.offset), mine.size);
            p->t[n++] = recv_from(from, buffer_at(out, theirs.offset), theirs.size);
        }
        rc = message_op_run(p->group, p->t, n, why);
    }
    return rc;
}
