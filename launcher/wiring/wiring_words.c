/* SPDX-License-Identifier: MIT */
#include "launcher/wiring/wiring_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

const char *wiring_words_port(const struct wiring_survey *s, char text[WIRING_PORT_TEXT],
                              struct wiring_end e)
{
    const json_t *ports = json_object_get(wiring_device(s, e), "ports");

    if (e.port && json_array_size(ports) > 1)
        snprintf(text, WIRING_PORT_TEXT, "%.*s port %d", PORT_NAME_DEVICE - 1, e.device, e.port);
    else
        snprintf(text, WIRING_PORT_TEXT, "%.*s", PORT_NAME_DEVICE - 1, e.device);
    return text;
}

const char *wiring_words_end(const struct wiring_survey *s, char text[WIRING_END_TEXT],
                             struct wiring_end e, const json_t *gid)
{
    const json_t *port = wiring_port(s, e);
    size_t used = 0;

    append(text, WIRING_END_TEXT, &used, "%.*s port %d", PORT_NAME_DEVICE - 1, e.device, e.port);
    if (gid)
        append(text, WIRING_END_TEXT, &used, " (GID %d, %s)", wiring_number(gid, "index"),
               wiring_text(gid, "gid"));
    else if (wiring_is_infiniband(port))
        append(text, WIRING_END_TEXT, &used, " (LID %d)", wiring_number(port, "lid"));
    return text;
}

/* Why a port is of no use, or by what it is known: "10.0.0.1/24", "down". */
static void port_append(char text[WIRING_LIST_TEXT], size_t *used, const json_t *port)
{
    const char *comma = "";
    json_t *gid;
    size_t k;

    if (!json_is_true(json_object_get(port, "is_active"))) {
        append(text, WIRING_LIST_TEXT, used, "%s", wiring_text(port, "state"));
        return;
    }
    json_array_foreach(json_object_get(port, "gids"), k, gid)
    {
        if (!*wiring_text(gid, "ipv4"))
            continue;
        append(text, WIRING_LIST_TEXT, used, "%s%s/%d", comma, wiring_text(gid, "ipv4"),
               wiring_number(gid, "prefix"));
        comma = " ";
    }
    if (!*comma)
        append(text, WIRING_LIST_TEXT, used, "%s",
               wiring_is_infiniband(port) ? "InfiniBand" : "no IPv4 address");
}

const char *wiring_words_devices(const struct wiring_survey *s, char text[WIRING_LIST_TEXT],
                                 int host)
{
    json_t *device, *port;
    const char *comma = "";
    char name[WIRING_PORT_TEXT];
    size_t used = 0, i, k;

    text[0] = '\0';
    json_array_foreach(s->devices[host], i, device)
    {
        struct wiring_end e = {.host = host, .device = wiring_text(device, "name")};

        if (json_object_get(device, "error")) {
            append(text, WIRING_LIST_TEXT, &used, "%s%s (fails)", comma, e.device);
            comma = ", ";
        }
        json_array_foreach(json_object_get(device, "ports"), k, port)
        {
            e.port = wiring_number(port, "port");
            append(text, WIRING_LIST_TEXT, &used, "%s%s (", comma, wiring_words_port(s, name, e));
            port_append(text, &used, port);
            append(text, WIRING_LIST_TEXT, &used, ")");
            comma = ", ";
        }
    }
    return text[0] ? text : "none";
}
