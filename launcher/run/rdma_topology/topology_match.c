/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_match.h"

#include "common/log.h"
#include "launcher/run/rdma_topology/topology_sentence.h"

#include <stdlib.h>
#include <string.h>

enum { PORTS_LOOKED_AT = 4 * RDMA_RAILS };

/* Ends at two hosts, and which two of them may be joined to one link. */
struct ends {
    struct topology_end mine[RDMA_RAILS], theirs[RDMA_RAILS];
    int mine_count, theirs_count;
    bool joined[RDMA_RAILS][RDMA_RAILS];
    int match[RDMA_RAILS]; /* for each of theirs, the index in mine; -1: none */
};

static enum topology_meeting meeting_of(const struct topology_facts *f, struct topology_end a,
                                        struct topology_end b)
{
    return topology_end_meet(f, &a, &b);
}

static void ends_join(const struct topology_facts *f, struct ends *e, enum topology_meeting least)
{
    for (int a = 0; a < e->mine_count; a++)
        for (int b = 0; b < e->theirs_count; b++)
            e->joined[a][b] = meeting_of(f, e->mine[a], e->theirs[b]) >= least;
}

/* Finds one of theirs for mine[i], moving others if none is free (an augmenting path). */
static bool end_place(struct ends *e, int i, bool *seen)
{
    for (int k = 0; k < e->theirs_count; k++)
        if (e->joined[i][k] && e->match[k] < 0) {
            e->match[k] = i;
            return true;
        }
    for (int k = 0; k < e->theirs_count; k++) {
        if (!e->joined[i][k] || seen[k])
            continue;
        seen[k] = true;
        if (end_place(e, e->match[k], seen)) {
            e->match[k] = i;
            return true;
        }
    }
    return false;
}

static void ends_match(struct ends *e)
{
    for (int k = 0; k < RDMA_RAILS; k++)
        e->match[k] = -1;
    for (int i = 0; i < e->mine_count; i++) {
        bool seen[RDMA_RAILS] = {false};

        end_place(e, i, seen);
    }
}

static int match_of(const struct ends *e, int i)
{
    for (int k = 0; k < e->theirs_count; k++)
        if (e->match[k] == i)
            return k;
    return -1;
}

/* Every rail needs a partner. An entry without a port may use any port of its device; since each
 * such device is listed only once, no two rails can pick the same port. */
static int match_stated(const struct topology_facts *f, int i, int j, struct ends *e, int *host,
                        struct fault *why)
{
    e->mine_count = topology_end_stated(f, i, j, e->mine);
    e->theirs_count = topology_end_stated(f, j, i, e->theirs);
    ends_join(f, e, TOPOLOGY_UNKNOWN);
    ends_match(e);
    *host = i;
    if (e->mine_count != e->theirs_count)
        return topology_sentence_uneven(f, j, e->mine_count, e->theirs_count, why);
    for (int a = 0; a < e->mine_count; a++)
        if (match_of(e, a) < 0)
            return topology_sentence_astray(f, e->mine[a], j, host, why);
    return 0;
}

/* --- as traffic shows --------------------------------------------------------------------------
 */

/* A port of a host that may lead to the other one. */
struct candidate {
    struct topology_end end;
    const char *device;
    double gigabits; /* the port's rate */
    double fastest;  /* the rate of its best link to the other host; -1: none */
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = strcmp(x->device, y->device);

    return order ? order : x->end.port - y->end.port;
}

/* All active ports of a host, ordered by their names. */
static int host_candidates(const struct topology_facts *f, int host, struct candidate *out)
{
    int count = 0;

    for (int d = 0; d < f->hosts[host].device_count; d++) {
        struct topology_end ports[TOPOLOGY_PORTS], any = {.host = host, .device = d};
        int more = topology_end_ports(f, any, ports);

        for (int k = 0; k < more && count < PORTS_LOOKED_AT; k++)
            out[count++] = (struct candidate){.end = ports[k],
                                              .device = f->hosts[host].devices[d].name,
                                              .gigabits = topology_end_port(f, ports[k])->gigabits,
                                              .fastest = -1};
    }
    qsort(out, (size_t)count, sizeof(*out), compare_candidates);
    return count;
}

/* The ports that reach the other host, and of these only the fastest: traffic is striped evenly, so
 * a slow one would hold the others up. */
static int ends_reaching(const struct topology_facts *f, int from, int to, struct topology_end *out)
{
    struct candidate mine[PORTS_LOOKED_AT] = {{.device = ""}};
    struct candidate theirs[PORTS_LOOKED_AT] = {{.device = ""}};
    int mine_count = host_candidates(f, from, mine), theirs_count = host_candidates(f, to, theirs);
    double best = 0;
    int count = 0;

    for (int a = 0; a < mine_count; a++) {
        for (int b = 0; b < theirs_count; b++) {
            double x = mine[a].gigabits, y = theirs[b].gigabits, slower = x < y ? x : y;

            if (slower > mine[a].fastest &&
                meeting_of(f, mine[a].end, theirs[b].end) >= TOPOLOGY_CARRIES)
                mine[a].fastest = slower;
        }
        best = mine[a].fastest > best ? mine[a].fastest : best;
    }
    for (int a = 0; a < mine_count && count < RDMA_RAILS; a++) {
        if (mine[a].fastest >= best)
            out[count++] = mine[a].end;
        else if (mine[a].fastest >= 0)
            log_debug("host %s: %s port %d reaches host %s at %g Gb/s and is left out, because "
                      "another port has %g",
                      f->config.names[from], mine[a].device, mine[a].end.port, f->config.names[to],
                      mine[a].fastest, best);
    }
    return count;
}

static int match_found(const struct topology_facts *f, int i, int j, struct ends *e, int *host,
                       struct fault *why)
{
    int pairs = 0;

    e->mine_count = ends_reaching(f, i, j, e->mine);
    e->theirs_count = ends_reaching(f, j, i, e->theirs);
    ends_join(f, e, TOPOLOGY_CARRIES);
    ends_match(e);
    for (int a = 0; a < e->mine_count; a++)
        pairs += match_of(e, a) >= 0;
    *host = i;
    return pairs > 0 ? 0 : topology_sentence_no_wire(f, i, j, host, why);
}

int topology_match(const struct topology_facts *f, int i, int j,
                   struct topology_rail rails[RDMA_RAILS], int *count, int *host, struct fault *why)
{
    struct ends e = {.mine_count = 0};
    int rc = f->config.stated ? match_stated(f, i, j, &e, host, why)
                              : match_found(f, i, j, &e, host, why);

    *count = 0;
    for (int a = 0; a < e.mine_count && !rc; a++) {
        int b = match_of(&e, a);
        struct topology_rail rail;
        const struct topology_try *try;

        if (b < 0)
            continue;
        rail = (struct topology_rail){e.mine[a], e.theirs[b]};
        topology_end_meet(f, &rail.mine, &rail.theirs);
        rails[(*count)++] = rail;
        try = topology_end_try(f, rail.mine, rail.theirs);
        if (try && !try->carries_long)
            rc = topology_sentence_narrow(f, rail.mine, rail.theirs, host, why);
    }
    return rc;
}
