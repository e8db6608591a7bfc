/* SPDX-License-Identifier: MIT */
#include "launcher/wiring/wiring_match.h"

#include "launcher/wiring/wiring_sentence.h"

#include <stdlib.h>
#include <string.h>

enum { PORTS_LOOKED_AT = 4 * WIRING_RAILS };

/* Ends at two hosts, and which two may be those of one link. */
struct ends {
    struct wiring_end mine[WIRING_RAILS], theirs[WIRING_RAILS];
    int mine_count, theirs_count;
    bool joined[WIRING_RAILS][WIRING_RAILS];
    int match[WIRING_RAILS]; /* of theirs: which of mine; -1: none */
};

static enum wiring_meeting meet(const struct wiring_survey *s, struct wiring_end a,
                                struct wiring_end b)
{
    return wiring_meet(s, &a, &b);
}

static void ends_join(const struct wiring_survey *s, struct ends *e, enum wiring_meeting least)
{
    for (int a = 0; a < e->mine_count; a++)
        for (int b = 0; b < e->theirs_count; b++)
            e->joined[a][b] = meet(s, e->mine[a], e->theirs[b]) >= least;
}

/* A way to give mine[i] one of theirs, moving others aside where none is free (augmenting paths). */
static bool find_place(struct ends *e, int i, bool *seen)
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
        if (find_place(e, e->match[k], seen)) {
            e->match[k] = i;
            return true;
        }
    }
    return false;
}

static void ends_match(struct ends *e)
{
    for (int k = 0; k < WIRING_RAILS; k++)
        e->match[k] = -1;
    for (int i = 0; i < e->mine_count; i++) {
        bool seen[WIRING_RAILS] = {false};

        find_place(e, i, seen);
    }
}

static int match_of(const struct ends *e, int i)
{
    for (int k = 0; k < e->theirs_count; k++)
        if (e->match[k] == i)
            return k;
    return -1;
}

/* --- as the hostfile states --------------------------------------------------------------------
 */

static int ends_take(const struct wiring_survey *s, int from, int to, struct wiring_end *out)
{
    json_t *name;
    size_t i;
    int count = 0;

    json_array_foreach(wiring_stated_entry(s, from, to), i, name)
    {
        if (count < WIRING_RAILS && json_string_value(name))
            out[count++] = wiring_end_read(s, from, json_string_value(name));
    }
    return count;
}

/* All must have their other end. A port that is left open is one of the device's, and each device with an open one stands
 * in the list once: so whichever ports fit best, no two rails can take the same. */
static int match_stated(const struct wiring_survey *s, int i, int j, struct ends *e, int *host,
                        struct fault *why)
{
    e->mine_count = ends_take(s, i, j, e->mine);
    e->theirs_count = ends_take(s, j, i, e->theirs);
    ends_join(s, e, WIRING_UNKNOWN);
    ends_match(e);
    *host = i;
    if (e->mine_count != e->theirs_count)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s has %d device%s from here to host %s, but %d the other way",
                         s->config.source, e->mine_count, e->mine_count == 1 ? "" : "s",
                         s->config.names[j], e->theirs_count);
    for (int a = 0; a < e->mine_count; a++)
        if (match_of(e, a) < 0)
            return wiring_sentence_astray(s, e->mine[a], j, host, why);
    return 0;
}

/* --- as traffic shows --------------------------------------------------------------------------
 */

static int compare_ends(const void *a, const void *b)
{
    const struct wiring_end *x = a, *y = b;
    int order = strcmp(x->device, y->device);

    return order ? order : x->port - y->port;
}

/* All ports of a host that are up. */
static int ends_of_host(const struct wiring_survey *s, int host, struct wiring_end *out)
{
    json_t *device;
    size_t i;
    int count = 0;

    json_array_foreach(s->devices[host], i, device)
    {
        struct wiring_end ports[WIRING_PORTS],
            any = {.host = host, .device = json_string_value(json_object_get(device, "name"))};
        int more = any.device ? wiring_end_ports(s, any, ports) : 0;

        for (int k = 0; k < more && count < PORTS_LOOKED_AT; k++)
            out[count++] = ports[k];
    }
    qsort(out, (size_t)count, sizeof(*out), compare_ends);
    return count;
}

static double rate(const struct wiring_survey *s, struct wiring_end e)
{
    return json_number_value(json_object_get(wiring_port(s, e), "gigabits"));
}

/* Only those that reach the other host, and of these only the fastest: traffic is striped evenly, so a slow
 * one would hold the others up. */
static int reaching(const struct wiring_survey *s, int from, int to, struct wiring_end *out)
{
    struct wiring_end mine[PORTS_LOOKED_AT] = {{0}}, theirs[PORTS_LOOKED_AT] = {{0}};
    int mine_count = ends_of_host(s, from, mine), theirs_count = ends_of_host(s, to, theirs);
    double best = 0, fastest[PORTS_LOOKED_AT];
    int count = 0;

    for (int a = 0; a < mine_count; a++) {
        fastest[a] = -1;
        for (int b = 0; b < theirs_count; b++) {
            double x = rate(s, mine[a]), y = rate(s, theirs[b]), slower = x < y ? x : y;

            if (slower > fastest[a] && meet(s, mine[a], theirs[b]) >= WIRING_CARRIES)
                fastest[a] = slower;
        }
        best = fastest[a] > best ? fastest[a] : best;
    }
    for (int a = 0; a < mine_count && count < WIRING_RAILS; a++)
        if (fastest[a] >= best)
            out[count++] = mine[a];
    return count;
}

static int match_found(const struct wiring_survey *s, int i, int j, struct ends *e, int *host,
                       struct fault *why)
{
    int pairs = 0;

    e->mine_count = reaching(s, i, j, e->mine);
    e->theirs_count = reaching(s, j, i, e->theirs);
    ends_join(s, e, WIRING_CARRIES);
    ends_match(e);
    for (int a = 0; a < e->mine_count; a++)
        pairs += match_of(e, a) >= 0;
    *host = i;
    return pairs > 0 ? 0 : wiring_sentence_no_wire(s, i, j, host, why);
}

int wiring_match(const struct wiring_survey *s, int i, int j, struct wiring_rail *rails, int *count,
                 int *host, struct fault *why)
{
    struct ends e = {.mine_count = 0};
    int rc = s->config.stated ? match_stated(s, i, j, &e, host, why)
                              : match_found(s, i, j, &e, host, why);

    *count = 0;
    for (int a = 0; a < e.mine_count && !rc; a++) {
        int b = match_of(&e, a);
        struct wiring_rail rail;
        const json_t *try;

        if (b < 0)
            continue;
        rail = (struct wiring_rail){e.mine[a], e.theirs[b]};
        wiring_meet(s, &rail.mine, &rail.theirs);
        rails[(*count)++] = rail;
        try = wiring_try(s, rail.mine, rail.theirs);
        if (try && !json_is_true(json_object_get(try, "whole")))
            rc = wiring_sentence_narrow(s, rail.mine, rail.theirs, host, why);
    }
    return rc;
}
