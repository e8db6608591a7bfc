/* SPDX-License-Identifier: MIT */
#include "launcher/wiring_match.h"

#include "launcher/wiring_sentence.h"

#include <stdlib.h>
#include <string.h>

json_t *wiring_device_find(const json_t *devices, const char *name)
{
    json_t *device;
    size_t i;

    json_array_foreach(devices, i, device)
    {
        const char *its = json_string_value(json_object_get(device, "name"));

        if (its && name && strcmp(its, name) == 0)
            return device;
    }
    return NULL;
}

json_t *wiring_port_used(const struct wiring_survey *s, const json_t *device)
{
    json_t *port;
    size_t i;

    if (json_object_get(device, "error"))
        return NULL;
    json_array_foreach(json_object_get(device, "ports"), i, port)
    {
        json_int_t number = json_integer_value(json_object_get(port, "port"));

        if (json_is_true(json_object_get(port, "is_active")) &&
            (!s->config.port || number == s->config.port))
            return port;
    }
    return NULL;
}

static json_int_t port_number(const struct wiring_survey *s, int host, const char *device)
{
    const json_t *port = wiring_port_used(s, wiring_device_find(s->devices[host], device));

    return json_integer_value(json_object_get(port, "port"));
}

json_t *wiring_try(const struct wiring_survey *s, int from, const char *device, int to,
                   const char *peer)
{
    json_t *tries = json_object_get(wiring_device_find(s->tries[from], device), "tries"), *try;
    json_int_t port = port_number(s, from, device), peer_port = port_number(s, to, peer);
    size_t i;

    json_array_foreach(tries, i, try)
    {
        const char *its = json_string_value(json_object_get(try, "device"));

        if (its && strcmp(its, peer) == 0 &&
            json_integer_value(json_object_get(try, "host")) == to &&
            json_integer_value(json_object_get(try, "port")) == port &&
            json_integer_value(json_object_get(try, "peer_port")) == peer_port)
            return try;
    }
    return NULL;
}

bool wiring_carries(const struct wiring_survey *s, int from, const char *device, int to,
                    const char *peer)
{
    return json_is_true(json_object_get(wiring_try(s, from, device, to, peer), "carries")) &&
           json_is_true(json_object_get(wiring_try(s, to, peer, from, device), "carries"));
}

/* No datagram queue pairs there: only the ranks' own check can tell. */
static bool is_untried(const struct wiring_survey *s, int host, const char *device)
{
    return json_object_get(wiring_port_used(s, wiring_device_find(s->devices[host], device)),
                           "untried") != NULL;
}

static double rate(const struct wiring_survey *s, int host, const char *device)
{
    return json_number_value(json_object_get(
        wiring_port_used(s, wiring_device_find(s->devices[host], device)), "gigabits"));
}

/* --- matching ----------------------------------------------------------------------------------
 */

/* Devices of two hosts, and which two may be the ends of one link. */
struct ends {
    const char *mine[WIRING_RAILS], *theirs[WIRING_RAILS];
    int mine_count, theirs_count;
    bool joined[WIRING_RAILS][WIRING_RAILS];
    int match[WIRING_RAILS]; /* of theirs: which of mine; -1: none */
};

/* A way to give mine[i] one of theirs, moving others aside (augmenting paths). */
static bool find_place(struct ends *e, int i, bool *seen)
{
    for (int k = 0; k < e->theirs_count; k++) {
        if (!e->joined[i][k] || seen[k])
            continue;
        seen[k] = true;
        if (e->match[k] < 0 || find_place(e, e->match[k], seen)) {
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

static int names_take(const char **out, json_t *list)
{
    json_t *name;
    size_t i;
    int count = 0;

    json_array_foreach(list, i, name)
    {
        if (count < WIRING_RAILS && json_string_value(name))
            out[count++] = json_string_value(name);
    }
    return count;
}

static json_t *stated_entry(const struct wiring_survey *s, int from, int to)
{
    return json_array_get(json_array_get(s->config.stated, (size_t)from), (size_t)to);
}

/* As the hostfile states: all must have their other end. */
static int match_stated(const struct wiring_survey *s, int i, int j, struct ends *e, int *host,
                        struct fault *why)
{
    e->mine_count = names_take(e->mine, stated_entry(s, i, j));
    e->theirs_count = names_take(e->theirs, stated_entry(s, j, i));
    for (int a = 0; a < e->mine_count; a++)
        for (int b = 0; b < e->theirs_count; b++)
            e->joined[a][b] = wiring_carries(s, i, e->mine[a], j, e->theirs[b]) ||
                              is_untried(s, i, e->mine[a]) || is_untried(s, j, e->theirs[b]);
    ends_match(e);
    *host = i;
    if (e->mine_count != e->theirs_count)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s has %d device%s from here to host %s, but %d the other way",
                         s->config.source, e->mine_count, e->mine_count == 1 ? "" : "s",
                         s->config.names[j], e->theirs_count);
    for (int a = 0; a < e->mine_count; a++)
        if (match_of(e, a) < 0)
            return wiring_sentence_astray(s, i, e->mine[a], j, host, why);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int names_of_host(const struct wiring_survey *s, int host, const char **out)
{
    json_t *device;
    size_t i;
    int count = 0;

    json_array_foreach(s->devices[host], i, device)
    {
        const char *name = json_string_value(json_object_get(device, "name"));

        if (name && count < 4 * WIRING_RAILS && wiring_port_used(s, device))
            out[count++] = name;
    }
    qsort(out, (size_t)count, sizeof(*out), compare_names);
    return count;
}

/* Only those that reach the other host, and of these only the fastest: traffic is striped evenly, so a slow
 * one would hold the others up. */
static int reaching(const struct wiring_survey *s, int from, int to, const char **out)
{
    const char *mine[4 * WIRING_RAILS] = {NULL}, *theirs[4 * WIRING_RAILS] = {NULL};
    int mine_count = names_of_host(s, from, mine), theirs_count = names_of_host(s, to, theirs);
    double best = 0;
    int count = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int a = 0; a < mine_count; a++) {
            double fastest = -1;

            for (int b = 0; b < theirs_count; b++) {
                double x = rate(s, from, mine[a]), y = rate(s, to, theirs[b]);

                if (wiring_carries(s, from, mine[a], to, theirs[b]) && (x < y ? x : y) > fastest)
                    fastest = x < y ? x : y;
            }
            if (pass == 0 && fastest > best)
                best = fastest;
            else if (pass == 1 && fastest >= best && count < WIRING_RAILS)
                out[count++] = mine[a];
        }
    return count;
}

static int match_found(const struct wiring_survey *s, int i, int j, struct ends *e, int *host,
                       struct fault *why)
{
    int pairs = 0;

    e->mine_count = reaching(s, i, j, e->mine);
    e->theirs_count = reaching(s, j, i, e->theirs);
    for (int a = 0; a < e->mine_count; a++)
        for (int b = 0; b < e->theirs_count; b++)
            e->joined[a][b] = wiring_carries(s, i, e->mine[a], j, e->theirs[b]);
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
        const json_t *try = b < 0 ? NULL : wiring_try(s, i, e.mine[a], j, e.theirs[b]);

        if (b < 0)
            continue;
        rails[(*count)++] = (struct wiring_rail){e.mine[a], e.theirs[b]};
        if (try && !json_is_true(json_object_get(try, "whole")))
            rc = wiring_sentence_narrow(s, i, e.mine[a], j, e.theirs[b], host, why);
    }
    return rc;
}
