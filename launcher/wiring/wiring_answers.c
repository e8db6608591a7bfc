/* SPDX-License-Identifier: MIT */
#include "launcher/wiring/wiring_answers.h"

#include <string.h>

const char *wiring_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

int wiring_number(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

bool wiring_is_infiniband(const json_t *port)
{
    return strcmp(wiring_text(port, "link_layer"), "InfiniBand") == 0;
}

bool wiring_has_ipv4(const json_t *port)
{
    json_t *gid;
    size_t i;

    json_array_foreach(json_object_get(port, "gids"), i, gid)
    {
        if (*wiring_text(gid, "ipv4"))
            return true;
    }
    return false;
}

json_t *wiring_device_find(const json_t *devices, const char *name)
{
    char wanted[PORT_NAME_DEVICE];
    json_t *device;
    size_t i;
    int port;

    if (!name || !port_name_split(name, wanted, &port))
        return NULL;
    json_array_foreach(devices, i, device)
    {
        if (strcmp(wiring_text(device, "name"), wanted) == 0)
            return device;
    }
    return NULL;
}

json_t *wiring_device(const struct wiring_survey *s, struct wiring_end e)
{
    return wiring_device_find(s->devices[e.host], e.device);
}

json_t *wiring_port(const struct wiring_survey *s, struct wiring_end e)
{
    json_t *port;
    size_t i;

    json_array_foreach(json_object_get(wiring_device(s, e), "ports"), i, port)
    {
        if (e.port && wiring_number(port, "port") == e.port)
            return port;
    }
    return NULL;
}

struct wiring_end wiring_end_read(const struct wiring_survey *s, int host, const char *name)
{
    const char *its =
        json_string_value(json_object_get(wiring_device_find(s->devices[host], name), "name"));
    struct wiring_end e = {.host = host, .device = name ? name : ""};
    char device[PORT_NAME_DEVICE];

    if (its && port_name_split(name, device, &e.port))
        e.device = its;
    return e;
}

const char *wiring_end_name(const struct wiring_survey *s, struct wiring_end e,
                            char text[PORT_NAME_TEXT])
{
    bool is_plain =
        wiring_ports_up(s, e) <= 1 && (!s->config.rdma.port || s->config.rdma.port == e.port);

    return port_name_format(text, e.device, is_plain ? 0 : e.port);
}

static int ports_up(const struct wiring_survey *s, struct wiring_end e, int only,
                    struct wiring_end out[WIRING_PORTS])
{
    json_t *device = wiring_device(s, e), *port;
    int count = 0;
    size_t i;

    if (json_object_get(device, "error"))
        return 0;
    json_array_foreach(json_object_get(device, "ports"), i, port)
    {
        int number = wiring_number(port, "port");

        if (json_is_true(json_object_get(port, "is_active")) && (!only || number == only) &&
            number > 0 && number <= PORT_NAME_MOST && count < WIRING_PORTS)
            out[count++] = (struct wiring_end){e.host, e.device, number};
    }
    return count;
}

int wiring_end_ports(const struct wiring_survey *s, struct wiring_end e,
                     struct wiring_end out[WIRING_PORTS])
{
    return ports_up(s, e, e.port ? e.port : s->config.rdma.port, out);
}

int wiring_ports_up(const struct wiring_survey *s, struct wiring_end e)
{
    struct wiring_end ports[WIRING_PORTS];

    return ports_up(s, e, 0, ports);
}

json_t *wiring_stated_entry(const struct wiring_survey *s, int from, int to)
{
    return json_array_get(json_array_get(s->config.stated, (size_t)from), (size_t)to);
}

json_t *wiring_try(const struct wiring_survey *s, struct wiring_end a, struct wiring_end b)
{
    json_t *try;
    size_t i;

    json_array_foreach(json_object_get(wiring_device_find(s->tries[a.host], a.device), "tries"), i,
                       try)
    {
        if (strcmp(wiring_text(try, "device"), b.device) == 0 &&
            wiring_number(try, "host") == b.host && wiring_number(try, "port") == a.port &&
            wiring_number(try, "peer_port") == b.port)
            return try;
    }
    return NULL;
}

static enum wiring_meeting ports_meet(const struct wiring_survey *s, struct wiring_end a,
                                      struct wiring_end b)
{
    const json_t *there = wiring_try(s, a, b), *back = wiring_try(s, b, a);

    if (json_is_true(json_object_get(there, "carries")) &&
        json_is_true(json_object_get(back, "carries")))
        return WIRING_CARRIES;
    if (json_object_get(wiring_port(s, a), "untried") ||
        json_object_get(wiring_port(s, b), "untried"))
        return WIRING_UNKNOWN;
    if (json_is_true(json_object_get(there, "shared")))
        return WIRING_SHARED;
    return there ? WIRING_TRIED : WIRING_NOTHING;
}

enum wiring_meeting wiring_meet(const struct wiring_survey *s, struct wiring_end *a,
                                struct wiring_end *b)
{
    struct wiring_end mine[WIRING_PORTS], theirs[WIRING_PORTS];
    int mine_count = wiring_end_ports(s, *a, mine), theirs_count = wiring_end_ports(s, *b, theirs);
    enum wiring_meeting best = WIRING_NOTHING;

    if (mine_count)
        *a = mine[0];
    if (theirs_count)
        *b = theirs[0];
    for (int i = 0; i < mine_count; i++)
        for (int k = 0; k < theirs_count; k++) {
            enum wiring_meeting found = ports_meet(s, mine[i], theirs[k]);

            if (found > best) {
                best = found;
                *a = mine[i];
                *b = theirs[k];
            }
        }
    return best;
}
