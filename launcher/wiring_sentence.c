/* SPDX-License-Identifier: MIT */
#include "launcher/wiring_sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { END_TEXT = 160, LIST_TEXT = 280, NAME_TEXT = PORT_NAME_DEVICE + 16 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int whole(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

static __attribute__((format(printf, 4, 5))) void append(char *text, size_t room, size_t *used,
                                                         const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = *used < room ? vsnprintf(text + *used, room - *used, format, args) : 0;
    va_end(args);
    *used += n > 0 ? (size_t)n : 0;
}

static bool is_infiniband(const json_t *port)
{
    return strcmp(text_of(port, "link_layer"), "InfiniBand") == 0;
}

/* "mlx5_0 port 2"; where the device has no other one: "rxe_p1". */
static const char *name_format(const struct wiring_survey *s, char text[NAME_TEXT],
                               struct wiring_end e)
{
    const json_t *ports = json_object_get(wiring_device(s, e), "ports");

    if (e.port && json_array_size(ports) > 1)
        snprintf(text, NAME_TEXT, "%.*s port %d", PORT_NAME_DEVICE - 1, e.device, e.port);
    else
        snprintf(text, NAME_TEXT, "%.*s", PORT_NAME_DEVICE - 1, e.device);
    return text;
}

/* "rxe_p1 port 1 (GID 1, ::ffff:10.0.0.1)"; `gid` as in a try, or NULL. */
static const char *end_format(const struct wiring_survey *s, char text[END_TEXT],
                              struct wiring_end e, const json_t *gid)
{
    const json_t *port = wiring_port(s, e);
    size_t used = 0;

    append(text, END_TEXT, &used, "%.*s port %d", PORT_NAME_DEVICE - 1, e.device, e.port);
    if (gid)
        append(text, END_TEXT, &used, " (GID %d, %s)", whole(gid, "index"), text_of(gid, "gid"));
    else if (is_infiniband(port))
        append(text, END_TEXT, &used, " (LID %d)", whole(port, "lid"));
    return text;
}

/* Why a port is of no use, or by what it is known: "10.0.0.1/24", "down". */
static void port_append(char text[LIST_TEXT], size_t *used, const json_t *port)
{
    const char *comma = "";
    json_t *gid;
    size_t k;

    if (!json_is_true(json_object_get(port, "is_active"))) {
        append(text, LIST_TEXT, used, "%s", text_of(port, "state"));
        return;
    }
    json_array_foreach(json_object_get(port, "gids"), k, gid)
    {
        if (!*text_of(gid, "ipv4"))
            continue;
        append(text, LIST_TEXT, used, "%s%s/%d", comma, text_of(gid, "ipv4"), whole(gid, "prefix"));
        comma = " ";
    }
    if (!*comma)
        append(text, LIST_TEXT, used, "%s", is_infiniband(port) ? "InfiniBand" : "no IPv4 address");
}

/* "rxe_p1 (10.0.0.1/24), mlx5_0 port 1 (10.0.1.1/24), mlx5_0 port 2 (down)" */
static const char *devices_format(const struct wiring_survey *s, char text[LIST_TEXT], int host)
{
    json_t *device, *port;
    const char *comma = "";
    char name[NAME_TEXT];
    size_t used = 0, i, k;

    text[0] = '\0';
    json_array_foreach(s->devices[host], i, device)
    {
        struct wiring_end e = {.host = host, .device = text_of(device, "name")};

        if (json_object_get(device, "error")) {
            append(text, LIST_TEXT, &used, "%s%s (fails)", comma, e.device);
            comma = ", ";
        }
        json_array_foreach(json_object_get(device, "ports"), k, port)
        {
            e.port = whole(port, "port");
            append(text, LIST_TEXT, &used, "%s%s (", comma, name_format(s, name, e));
            port_append(text, &used, port);
            append(text, LIST_TEXT, &used, ")");
            comma = ", ";
        }
    }
    return text[0] ? text : "none";
}

/* --- why two ports don't meet ------------------------------------------------------------------
 */

static bool has_ipv4(const json_t *port)
{
    json_t *gid;
    size_t i;

    json_array_foreach(json_object_get(port, "gids"), i, gid)
    {
        if (*text_of(gid, "ipv4"))
            return true;
    }
    return false;
}

/* They were not even tried: their addresses can't meet. */
static int never_tried(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b,
                       struct fault *why)
{
    const json_t *mine = wiring_port(s, a), *theirs = wiring_port(s, b);
    const char *kind = text_of(mine, "link_layer"), *other = text_of(theirs, "link_layer");
    const char *there = s->config.names[b.host], *bare = NULL;
    char name[NAME_TEXT], peer[NAME_TEXT];

    name_format(s, name, a);
    name_format(s, peer, b);
    if (!has_ipv4(theirs))
        bare = peer;
    if (!has_ipv4(mine))
        bare = name;
    if (strcmp(kind, other) != 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s is %s, but %s of host %s, to which %s leads it, is %s: these can't be "
                         "on one cable",
                         name, kind, peer, there, s->config.source, other);
    if (is_infiniband(mine))
        return fault_set(
            why, ML_ERR_LINK,
            "%s and %s of host %s are on different fabrics (%s and %s): compare %s "
            "with the cables",
            name, peer, there, text_of(json_array_get(json_object_get(mine, "gids"), 0), "gid"),
            text_of(json_array_get(json_object_get(theirs, "gids"), 0), "gid"), s->config.source);
    if (s->config.gid_index >= 0)
        return fault_set(
            why, ML_ERR_LINK,
            "GID index %d of %s and of %s of host %s don't fit together, or one has none "
            "of that index; without --gid-index what fits best is taken, and mlaunch-probe "
            "lists them",
            s->config.gid_index, name, peer, there);
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
    const char *error = text_of(try, "error");
    char mine[END_TEXT], theirs[END_TEXT];

    if (!try)
        return never_tried(s, a, b, why);
    if (!*error)
        error = text_of(back, "error");
    return fault_set(
        why, ML_ERR_LINK, "nothing comes through between %s and %s of host %s%s%s; %s",
        end_format(s, mine, a, json_object_get(try, "gid")),
        end_format(s, theirs, b, json_object_get(try, "peer_gid")), s->config.names[b.host],
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
        int to = whole(try, "host");

        *found = (struct wiring_end){to, text_of(try, "device"), whole(try, "peer_port")};
        if (to != j && to >= 0 && to < s->config.count && whole(try, "port") == e.port &&
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
    char name[NAME_TEXT], peer[NAME_TEXT];

    return fault_set(
        why, ML_ERR_ARGUMENT,
        "%s says that %s leads to host %s, but %sit is on one cable with %s of host %s: "
        "the wiring does not fit the cables; mlaunch hosts --probe finds the right one",
        s->config.source, name_format(s, name, e), s->config.names[j],
        carries ? "" : "by its address ", name_format(s, peer, found), s->config.names[found.host]);
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
        if (*text_of(device, "error"))
            return text_of(device, "error");
    }
    return NULL;
}

static bool is_allowed(const struct wiring_survey *s, const json_t *try)
{
    return !s->config.port ||
           (whole(try, "port") == s->config.port && whole(try, "peer_port") == s->config.port);
}

int wiring_sentence_no_wire(const struct wiring_survey *s, int i, int j, int *host,
                            struct fault *why)
{
    char mine[LIST_TEXT], theirs[LIST_TEXT], only[NAME_TEXT] = "";
    const char *failing;
    json_t *device, *try;
    size_t a, b;

    *host = i;
    json_array_foreach(s->tries[i], a, device)
    {
        json_array_foreach(json_object_get(device, "tries"), b, try)
        {
            if (whole(try, "host") == j && json_is_true(json_object_get(try, "shared")) &&
                is_allowed(s, try))
                return unheard(
                    s, (struct wiring_end){i, text_of(device, "name"), whole(try, "port")},
                    (struct wiring_end){j, text_of(try, "device"), whole(try, "peer_port")}, why);
        }
    }
    for (int end = 0; end < 2; end++) {
        *host = end ? j : i;
        if ((failing = first_error(s, *host)))
            return fault_set(why, ML_ERR_DEVICE, "no RDMA device reaches host %s: %s",
                             s->config.names[end ? i : j], failing);
    }
    *host = i;
    if (s->config.port)
        snprintf(only, sizeof(only), " by port %d (--rdma-port)", s->config.port);
    return fault_set(
        why, ML_ERR_LINK,
        "no RDMA device reaches host %s%s: here %s; there %s: no two are up, in one subnet or "
        "fabric, and let traffic through",
        s->config.names[j], only, devices_format(s, mine, i), devices_format(s, theirs, j));
}

int wiring_sentence_narrow(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b,
                           int *host, struct fault *why)
{
    char name[NAME_TEXT], peer[NAME_TEXT];

    *host = a.host;
    return fault_set(
        why, ML_ERR_LINK,
        "between %s and %s of host %s short packets come through, but none of %d bytes, "
        "which both ports take: something between them has a smaller MTU; raise it there (ip "
        "link set ... mtu), or give a smaller --mtu",
        name_format(s, name, a), name_format(s, peer, b), s->config.names[b.host],
        whole(wiring_try(s, a, b), "mtu"));
}

int wiring_sentence_mtu(const struct wiring_survey *s, struct wiring_end e, int *host,
                        struct fault *why)
{
    *host = e.host;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%.*s port %d has an active MTU of %d, so --mtu %d is too much",
                     PORT_NAME_DEVICE - 1, e.device, e.port, whole(wiring_port(s, e), "active_mtu"),
                     s->config.mtu);
}

int wiring_sentence_no_port(const struct wiring_survey *s, int host, struct fault *why)
{
    char list[LIST_TEXT];

    return fault_set(why, ML_ERR_DEVICE, "no RDMA device is up here: %s",
                     first_error(s, host) ? first_error(s, host) : devices_format(s, list, host));
}

static bool entry_names_port(const struct wiring_survey *s, struct wiring_end e, int to)
{
    json_t *name;
    size_t i;

    json_array_foreach(wiring_stated_entry(s, e.host, to), i, name)
    {
        struct wiring_end its = wiring_end_read(s, e.host, json_string_value(name));

        if (its.port == e.port && strcmp(its.device, e.device) == 0)
            return true;
    }
    return false;
}

static const char *port_reason(const struct wiring_survey *s, struct wiring_end a,
                               struct wiring_end b, const json_t *try)
{
    if (entry_names_port(s, a, b.host) || entry_names_port(s, b, a.host))
        return "as the wiring names it";
    if (s->config.port)
        return "--rdma-port";
    if (wiring_ports_up(s, a) <= 1 && wiring_ports_up(s, b) <= 1)
        return "the only one that is up";
    if (json_is_true(json_object_get(try, "shared")))
        return json_object_get(try, "gid") ? "those in one subnet" : "those in one fabric";
    return "the first that reach each other";
}

static const char *gid_reason(const struct wiring_survey *s, const json_t *try)
{
    const json_t *gid = json_object_get(try, "gid");

    if (!gid)
        return "InfiniBand routes by LID";
    if (s->config.gid_index >= 0)
        return "--gid-index";
    if (json_is_true(json_object_get(try, "shared")))
        return *text_of(gid, "ipv4") ? "RoCE v2, IPv4 in one subnet" : "IPv6 in one subnet";
    return "the best of both ports' tables, no shared subnet";
}

void wiring_sentence_link(const struct wiring_survey *s, char text[WIRING_TEXT],
                          struct wiring_end a, struct wiring_end b)
{
    static const char *const kinds[] = {"RC where it is offered, else UC", "RC (--qp)",
                                        "UC (--qp)"};
    const char *stated = s->config.stated ? s->config.source : NULL;
    const json_t *try;
    char mine[END_TEXT], theirs[END_TEXT];

    wiring_meet(s, &a, &b);
    try = wiring_try(s, a, b);
    if (!try) {
        snprintf(text, WIRING_TEXT,
                 "host %s: %s to %s of host %s, as %s says; it could not be tried: they have no "
                 "datagrams",
                 s->config.names[a.host], end_format(s, mine, a, NULL),
                 end_format(s, theirs, b, NULL), s->config.names[b.host], s->config.source);
        return;
    }
    snprintf(
        text, WIRING_TEXT,
        "host %s: %s to %s of host %s: %s%s%s, and traffic comes through; port: %s; GID: %s; path "
        "MTU %d: %s; queue pairs: %s",
        s->config.names[a.host], end_format(s, mine, a, json_object_get(try, "gid")),
        end_format(s, theirs, b, json_object_get(try, "peer_gid")), s->config.names[b.host],
        stated ? "as " : "found", stated ? stated : "", stated ? " says" : "",
        port_reason(s, a, b, try), gid_reason(s, try), whole(try, "mtu"),
        s->config.mtu ? "--mtu" : "the smaller of both ports'", kinds[s->config.qp]);
}
