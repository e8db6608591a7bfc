/* SPDX-License-Identifier: MIT */
#include "launcher/wiring_sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { END_TEXT = 160, LIST_TEXT = 280 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int whole(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

static const json_t *used_port(const struct wiring_survey *s, int host, const char *device)
{
    return wiring_port_used(s, wiring_device_find(s->devices[host], device));
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

/* "rxe_p1 port 1 (GID 1, ::ffff:10.0.0.1)"; `gid` as in a try, or NULL. */
static const char *end_format(const struct wiring_survey *s, char text[END_TEXT], int host,
                              const char *device, const json_t *gid)
{
    const json_t *port = used_port(s, host, device);
    size_t used = 0;

    append(text, END_TEXT, &used, "%s port %d", device, port ? whole(port, "port") : 0);
    if (gid)
        append(text, END_TEXT, &used, " (GID %d, %s)", whole(gid, "index"), text_of(gid, "gid"));
    else if (port && strcmp(text_of(port, "link_layer"), "InfiniBand") == 0)
        append(text, END_TEXT, &used, " (LID %d)", whole(port, "lid"));
    return text;
}

/* "rxe_p1 (10.0.0.1/24), rxe_p2 (down)" */
static const char *devices_format(const struct wiring_survey *s, char text[LIST_TEXT], int host)
{
    json_t *device, *gid;
    size_t used = 0, i, k;

    text[0] = '\0';
    json_array_foreach(s->devices[host], i, device)
    {
        const json_t *port = wiring_port_used(s, device);
        const json_t *first = port ? port : json_array_get(json_object_get(device, "ports"), 0);
        const char *comma = "";

        append(text, LIST_TEXT, &used, "%s%s (", i ? ", " : "", text_of(device, "name"));
        if (!port)
            append(text, LIST_TEXT, &used, "%s",
                   json_object_get(device, "error") ? "fails" : text_of(first, "state"));
        json_array_foreach(json_object_get(port, "gids"), k, gid)
        {
            if (!*text_of(gid, "ipv4"))
                continue;
            append(text, LIST_TEXT, &used, "%s%s/%d", comma, text_of(gid, "ipv4"),
                   whole(gid, "prefix"));
            comma = " ";
        }
        if (port && !*comma)
            append(text, LIST_TEXT, &used, "%s",
                   strcmp(text_of(port, "link_layer"), "InfiniBand") == 0 ? "InfiniBand"
                                                                          : "no IPv4 address");
        append(text, LIST_TEXT, &used, ")");
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
static int never_tried(const struct wiring_survey *s, int i, const char *device, int j,
                       const char *peer, struct fault *why)
{
    const json_t *a = used_port(s, i, device), *b = used_port(s, j, peer);
    const char *kind = text_of(a, "link_layer"), *other = text_of(b, "link_layer");
    const json_t *gid = json_array_get(json_object_get(a, "gids"), 0);
    const json_t *other_gid = json_array_get(json_object_get(b, "gids"), 0);
    const char *bare = has_ipv4(a) ? has_ipv4(b) ? NULL : peer : device;

    if (strcmp(kind, other) != 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s is %s, but %s of host %s, to which %s leads it, is %s: these can't be "
                         "on one cable",
                         device, kind, peer, s->config.names[j], s->config.source, other);
    if (strcmp(kind, "InfiniBand") == 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s and %s of host %s are on different fabrics (%s and %s): compare %s "
                         "with the cables",
                         device, peer, s->config.names[j], text_of(gid, "gid"),
                         text_of(other_gid, "gid"), s->config.source);
    if (s->config.gid_index >= 0)
        return fault_set(
            why, ML_ERR_LINK,
            "GID index %d of %s and of %s of host %s don't fit together, or one has none "
            "of that index; without --gid-index what fits best is taken, and mlaunch-probe "
            "lists them",
            s->config.gid_index, device, peer, s->config.names[j]);
    return fault_set(
        why, ML_ERR_LINK,
        "%s and %s of host %s have no RoCE addresses in common%s%s%s: give their network "
        "devices IPv4 addresses in one subnet (ip addr add)",
        device, peer, s->config.names[j], bare ? ": " : "", bare ? bare : "",
        bare ? " has no IPv4 address" : "");
}

static int unheard(const struct wiring_survey *s, int i, const char *device, int j,
                   const char *peer, struct fault *why)
{
    const json_t *try = wiring_try(s, i, device, j, peer);
    const json_t *back = wiring_try(s, j, peer, i, device);
    const char *error = text_of(try, "error");
    char mine[END_TEXT], theirs[END_TEXT];

    if (!try)
        return never_tried(s, i, device, j, peer, why);
    if (!*error)
        error = text_of(back, "error");
    return fault_set(
        why, ML_ERR_LINK, "nothing comes through between %s and %s of host %s%s%s; %s",
        end_format(s, mine, i, device, json_object_get(try, "gid")),
        end_format(s, theirs, j, peer, json_object_get(try, "peer_gid")), s->config.names[j],
        *error ? ": " : "", error,
        s->config.stated
            ? "are these on one cable, as the wiring says? Compare with mlaunch hosts --probe"
            : "look at the cable, the addresses and the switch between them");
}

/* --- sentences ---------------------------------------------------------------------------------
 */

/* Where else that device leads. `carries`: traffic came through; else by its address. */
static bool elsewhere(const struct wiring_survey *s, int i, const char *device, int j, bool carries,
                      int *host, const char **peer)
{
    json_t *tries = json_object_get(wiring_device_find(s->tries[i], device), "tries"), *try;
    size_t k;

    json_array_foreach(tries, k, try)
    {
        int to = whole(try, "host");

        *peer = text_of(try, "device");
        *host = to;
        if (to != j && to >= 0 && to < s->config.count &&
            json_is_true(json_object_get(try, carries ? "carries" : "shared")))
            return true;
    }
    return false;
}

static int misled(const struct wiring_survey *s, const char *device, int j, int k, const char *peer,
                  bool carries, struct fault *why)
{
    return fault_set(
        why, ML_ERR_ARGUMENT,
        "%s says that %s leads to host %s, but %sit is on one cable with %s of host %s: "
        "the wiring does not fit the cables; mlaunch hosts --probe finds the right one",
        s->config.source, device, s->config.names[j], carries ? "" : "by its address ", peer,
        s->config.names[k]);
}

int wiring_sentence_astray(const struct wiring_survey *s, int i, const char *device, int j,
                           int *host, struct fault *why)
{
    json_t *theirs = json_array_get(json_array_get(s->config.stated, (size_t)j), (size_t)i), *name;
    const char *peer = json_string_value(json_array_get(theirs, 0)), *found;
    size_t n;
    int k;

    *host = i;
    if (elsewhere(s, i, device, j, true, &k, &found))
        return misled(s, device, j, k, found, true, why);
    json_array_foreach(theirs, n, name)
    {
        const char *other = json_string_value(name);

        if (!other || !elsewhere(s, j, other, i, true, &k, &found))
            continue;
        *host = j;
        return misled(s, other, i, k, found, true, why);
    }
    if (elsewhere(s, i, device, j, false, &k, &found) &&
        !json_is_true(json_object_get(wiring_try(s, i, device, j, peer), "shared")))
        return misled(s, device, j, k, found, false, why);
    return unheard(s, i, device, j, peer ? peer : "", why);
}

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

int wiring_sentence_no_wire(const struct wiring_survey *s, int i, int j, int *host,
                            struct fault *why)
{
    char mine[LIST_TEXT], theirs[LIST_TEXT];
    const char *failing;
    json_t *device, *try;
    size_t a, b;

    *host = i;
    json_array_foreach(s->tries[i], a, device)
    {
        json_array_foreach(json_object_get(device, "tries"), b, try)
        {
            if (whole(try, "host") == j && json_is_true(json_object_get(try, "shared")))
                return unheard(s, i, text_of(device, "name"), j, text_of(try, "device"), why);
        }
    }
    for (int end = 0; end < 2; end++) {
        *host = end ? j : i;
        if ((failing = first_error(s, *host)))
            return fault_set(why, ML_ERR_DEVICE, "no RDMA device reaches host %s: %s",
                             s->config.names[end ? i : j], failing);
    }
    *host = i;
    return fault_set(
        why, ML_ERR_LINK,
        "no RDMA device reaches host %s: here %s; there %s: no two are up, in one subnet or "
        "fabric, and let traffic through",
        s->config.names[j], devices_format(s, mine, i), devices_format(s, theirs, j));
}

int wiring_sentence_narrow(const struct wiring_survey *s, int i, const char *device, int j,
                           const char *peer, int *host, struct fault *why)
{
    const json_t *try = wiring_try(s, i, device, j, peer);

    *host = i;
    return fault_set(
        why, ML_ERR_LINK,
        "between %s and %s of host %s short packets come through, but none of %d bytes, "
        "which both ports take: something between them has a smaller MTU; raise it there (ip "
        "link set ... mtu), or give a smaller --mtu",
        device, peer, s->config.names[j], whole(try, "mtu"));
}

int wiring_sentence_no_port(const struct wiring_survey *s, int host, struct fault *why)
{
    char list[LIST_TEXT];

    return fault_set(why, ML_ERR_DEVICE, "no RDMA device is up here: %s",
                     first_error(s, host) ? first_error(s, host) : devices_format(s, list, host));
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

void wiring_sentence_link(const struct wiring_survey *s, char text[WIRING_TEXT], int i,
                          const char *device, int j, const char *peer)
{
    const json_t *try = wiring_try(s, i, device, j, peer);
    static const char *const kinds[] = {"RC where it is offered, else UC", "RC (--qp)",
                                        "UC (--qp)"};
    const char *stated = s->config.stated ? s->config.source : NULL;
    char mine[END_TEXT], theirs[END_TEXT];

    if (!try) {
        snprintf(text, WIRING_TEXT,
                 "host %s: %s to %s of host %s, as %s says; it could not be tried: they have no "
                 "datagrams",
                 s->config.names[i], device, peer, s->config.names[j], s->config.source);
        return;
    }
    snprintf(
        text, WIRING_TEXT,
        "host %s: %s to %s of host %s: %s%s%s, and traffic comes through; port: %s; GID: %s; path "
        "MTU %d: %s; queue pairs: %s",
        s->config.names[i], end_format(s, mine, i, device, json_object_get(try, "gid")),
        end_format(s, theirs, j, peer, json_object_get(try, "peer_gid")), s->config.names[j],
        stated ? "as " : "found", stated ? stated : "", stated ? " says" : "",
        s->config.port ? "--rdma-port" : "the first that is up", gid_reason(s, try),
        whole(try, "mtu"), s->config.mtu ? "--mtu" : "the smaller of both ports'",
        kinds[s->config.qp]);
}
