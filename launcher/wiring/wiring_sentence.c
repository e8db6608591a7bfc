/* SPDX-License-Identifier: MIT */
#include "launcher/wiring/wiring_sentence.h"

#include "launcher/wiring/wiring_words.h"

#include <stdio.h>
#include <string.h>

/* --- why two ports don't meet ------------------------------------------------------------------
 */

/* They were not even tried: their addresses can't meet. */
static int never_tried(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b,
                       struct fault *why)
{
    const json_t *mine = wiring_port(s, a), *theirs = wiring_port(s, b);
    const char *kind = wiring_text(mine, "link_layer"), *other = wiring_text(theirs, "link_layer");
    const char *there = s->config.names[b.host], *bare = NULL;
    char name[WIRING_PORT_TEXT], peer[WIRING_PORT_TEXT];

    wiring_words_port(s, name, a);
    wiring_words_port(s, peer, b);
    if (!wiring_has_ipv4(theirs))
        bare = peer;
    if (!wiring_has_ipv4(mine))
        bare = name;
    if (strcmp(kind, other) != 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s is %s, but %s of host %s, to which %s leads it, is %s: these can't be "
                         "on one cable",
                         name, kind, peer, there, s->config.source, other);
    if (wiring_is_infiniband(mine))
        return fault_set(why, ML_ERR_LINK,
                         "%s and %s of host %s are on different fabrics (%s and %s): compare %s "
                         "with the cables",
                         name, peer, there,
                         wiring_text(json_array_get(json_object_get(mine, "gids"), 0), "gid"),
                         wiring_text(json_array_get(json_object_get(theirs, "gids"), 0), "gid"),
                         s->config.source);
    if (s->config.rdma.gid_index >= 0)
        return fault_set(
            why, ML_ERR_LINK,
            "GID index %d of %s and of %s of host %s don't fit together, or one has none "
            "of that index; without --gid-index what fits best is taken, and mlaunch-probe "
            "lists them",
            s->config.rdma.gid_index, name, peer, there);
    return fault_set(
        why, ML_ERR_LINK,
        "%s and %s of host %s have no RoCE addresses in common%s%s%s: give their network "
        "devices IPv4 addresses in one subnet (ip addr add)",
        name, peer, there, bare ? ": " : "", bare ? bare : "", bare ? " has no IPv4 address" : "");
}

static int unheard(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b,
                   struct fault *why)
{
    const json_t *try = wiring_try(s, a, b), *back = wiring_try(s, b, a);
    const char *error = wiring_text(try, "error");
    char mine[WIRING_END_TEXT], theirs[WIRING_END_TEXT];

    if (!try)
        return never_tried(s, a, b, why);
    if (!*error)
        error = wiring_text(back, "error");
    return fault_set(
        why, ML_ERR_LINK, "nothing comes through between %s and %s of host %s%s%s; %s",
        wiring_words_end(s, mine, a, json_object_get(try, "gid")),
        wiring_words_end(s, theirs, b, json_object_get(try, "peer_gid")), s->config.names[b.host],
        *error ? ": " : "", error,
        s->config.stated
            ? "are these on one cable, as the wiring says? Compare with mlaunch hosts --probe"
            : "look at the cable, the addresses and the switch between them");
}

/* --- where a port leads that was stated to lead to host j ----------------------------------------
 */

/* `carries`: traffic came through; else by its address. */
static bool port_elsewhere(const struct wiring_survey *s, struct wiring_end e, int j, bool carries,
                           struct wiring_end *found)
{
    json_t *tries = json_object_get(wiring_device_find(s->tries[e.host], e.device), "tries"), *try;
    size_t k;

    json_array_foreach(tries, k, try)
    {
        int to = wiring_number(try, "host");

        *found =
            (struct wiring_end){to, wiring_text(try, "device"), wiring_number(try, "peer_port")};
        if (to != j && to >= 0 && to < s->config.count && wiring_number(try, "port") == e.port &&
            json_is_true(json_object_get(try, carries ? "carries" : "shared")))
            return true;
    }
    return false;
}

/* So for each of the ports that it may stand for; *e and *found: the first one's. */
static bool elsewhere(const struct wiring_survey *s, struct wiring_end *e, int j, bool carries,
                      struct wiring_end *found)
{
    struct wiring_end ports[WIRING_PORTS], other;
    int count = wiring_end_ports(s, *e, ports);

    for (int i = 0; i < count; i++)
        if (!port_elsewhere(s, ports[i], j, carries, i ? &other : found))
            return false;
    if (count)
        *e = ports[0];
    return count > 0;
}

static int misled(const struct wiring_survey *s, struct wiring_end e, int j,
                  struct wiring_end found, bool carries, struct fault *why)
{
    char name[WIRING_PORT_TEXT], peer[WIRING_PORT_TEXT];

    return fault_set(
        why, ML_ERR_ARGUMENT,
        "%s says that %s leads to host %s, but %sit is on one cable with %s of host %s: "
        "the wiring does not fit the cables; mlaunch hosts --probe finds the right one",
        s->config.source, wiring_words_port(s, name, e), s->config.names[j],
        carries ? "" : "by its address ", wiring_words_port(s, peer, found),
        s->config.names[found.host]);
}

/* The port of `e` of which to say that it does not reach `peer`: not one that leads elsewhere. */
static void ports_doubted(const struct wiring_survey *s, struct wiring_end *e, int j,
                          struct wiring_end *peer)
{
    struct wiring_end ports[WIRING_PORTS], found, at = *e, its = *peer;
    int count = e->port ? 0 : wiring_end_ports(s, *e, ports);
    enum wiring_meeting best = WIRING_NOTHING;

    wiring_meet(s, &at, &its);
    for (int i = 0; i < count; i++) {
        struct wiring_end other = *peer;
        enum wiring_meeting how = wiring_meet(s, &ports[i], &other);

        if (port_elsewhere(s, ports[i], j, true, &found) || how <= best)
            continue;
        best = how;
        at = ports[i];
        its = other;
    }
    *e = at;
    *peer = its;
}

int wiring_sentence_astray(const struct wiring_survey *s, struct wiring_end e, int j, int *host,
                           struct fault *why)
{
    json_t *theirs = wiring_stated_entry(s, j, e.host), *name;
    struct wiring_end found, peer;
    size_t n;

    *host = e.host;
    if (elsewhere(s, &e, j, true, &found))
        return misled(s, e, j, found, true, why);
    json_array_foreach(theirs, n, name)
    {
        struct wiring_end other = wiring_end_read(s, j, json_string_value(name));

        if (!elsewhere(s, &other, e.host, true, &found))
            continue;
        *host = j;
        return misled(s, other, e.host, found, true, why);
    }
    peer = wiring_end_read(s, j, json_string_value(json_array_get(theirs, 0)));
    ports_doubted(s, &e, j, &peer);
    if (!json_is_true(json_object_get(wiring_try(s, e, peer), "shared")) &&
        port_elsewhere(s, e, j, false, &found))
        return misled(s, e, j, found, false, why);
    return unheard(s, e, peer, why);
}

/* --- sentences ---------------------------------------------------------------------------------
 */

/* What one of this host's devices says is wrong with it; NULL. */
static const char *first_error(const struct wiring_survey *s, int host)
{
    json_t *device;
    size_t i;

    json_array_foreach(s->devices[host], i, device)
    {
        if (*wiring_text(device, "error"))
            return wiring_text(device, "error");
    }
    return NULL;
}

static bool is_allowed(const struct wiring_survey *s, const json_t *try)
{
    return !s->config.rdma.port || (wiring_number(try, "port") == s->config.rdma.port &&
                                    wiring_number(try, "peer_port") == s->config.rdma.port);
}

int wiring_sentence_no_wire(const struct wiring_survey *s, int i, int j, int *host,
                            struct fault *why)
{
    char mine[WIRING_LIST_TEXT], theirs[WIRING_LIST_TEXT], only[WIRING_PORT_TEXT] = "";
    const char *failing;
    json_t *device, *try;
    size_t a, b;

    *host = i;
    json_array_foreach(s->tries[i], a, device)
    {
        json_array_foreach(json_object_get(device, "tries"), b, try)
        {
            if (wiring_number(try, "host") == j && json_is_true(json_object_get(try, "shared")) &&
                is_allowed(s, try))
                return unheard(
                    s,
                    (struct wiring_end){i, wiring_text(device, "name"), wiring_number(try, "port")},
                    (struct wiring_end){j, wiring_text(try, "device"),
                                        wiring_number(try, "peer_port")},
                    why);
        }
    }
    for (int end = 0; end < 2; end++) {
        *host = end ? j : i;
        if ((failing = first_error(s, *host)))
            return fault_set(why, ML_ERR_DEVICE, "no RDMA device reaches host %s: %s",
                             s->config.names[end ? i : j], failing);
    }
    *host = i;
    if (s->config.rdma.port)
        snprintf(only, sizeof(only), " by port %d (--rdma-port)", s->config.rdma.port);
    return fault_set(
        why, ML_ERR_LINK,
        "no RDMA device reaches host %s%s: here %s; there %s: no two are up, in one subnet or "
        "fabric, and let traffic through",
        s->config.names[j], only, wiring_words_devices(s, mine, i),
        wiring_words_devices(s, theirs, j));
}

int wiring_sentence_narrow(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b,
                           int *host, struct fault *why)
{
    char name[WIRING_PORT_TEXT], peer[WIRING_PORT_TEXT];

    *host = a.host;
    return fault_set(
        why, ML_ERR_LINK,
        "between %s and %s of host %s short packets come through, but none of %d bytes, "
        "which both ports take: something between them has a smaller MTU; raise it there (ip "
        "link set ... mtu), or give a smaller --mtu",
        wiring_words_port(s, name, a), wiring_words_port(s, peer, b), s->config.names[b.host],
        wiring_number(wiring_try(s, a, b), "mtu"));
}

int wiring_sentence_mtu(const struct wiring_survey *s, struct wiring_end e, int *host,
                        struct fault *why)
{
    *host = e.host;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%.*s port %d has an active MTU of %d, so --mtu %d is too much",
                     PORT_NAME_DEVICE - 1, e.device, e.port,
                     wiring_number(wiring_port(s, e), "active_mtu"), s->config.rdma.mtu);
}

int wiring_sentence_no_port(const struct wiring_survey *s, int host, struct fault *why)
{
    char list[WIRING_LIST_TEXT];

    return fault_set(why, ML_ERR_DEVICE, "no RDMA device is up here: %s",
                     first_error(s, host) ? first_error(s, host)
                                          : wiring_words_devices(s, list, host));
}
