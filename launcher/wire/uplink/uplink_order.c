/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_order.h"

#include "common/net/address.h"
#include "common/text/number.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_MOST = 16 << 20,
    HEADS_MOST = 64,
    LIMIT_MOST_MS = INT_MAX / 2,
    DIGITS = 2 * AUTH_SECRET,
};

/* --- writing ---------------------------------------------------------------------------------- */

/* Link-local addresses are left out: every interface has one. */
static void addresses_add(json_t *list, const struct ifaddrs *all, bool is_loopback)
{
    for (const struct ifaddrs *i = all; i && json_array_size(list) < HEADS_MOST; i = i->ifa_next) {
        struct address a = {0};
        char ip[ADDRESS_TEXT];

        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) ||
            !!(i->ifa_flags & IFF_LOOPBACK) != is_loopback)
            continue;
        if (i->ifa_addr->sa_family == AF_INET)
            a.length = sizeof(struct sockaddr_in);
        else if (i->ifa_addr->sa_family == AF_INET6)
            a.length = sizeof(struct sockaddr_in6);
        else
            continue;
        memcpy(&a.storage, i->ifa_addr, a.length);
        address_format_ip(&a, ip);
        if (!strchr(ip, '%'))
            json_array_append_new(list, json_string(ip));
    }
}

static json_t *heads_list(const char *ip)
{
    struct ifaddrs *all = NULL;
    json_t *list = json_array();

    if (!address_is_every(ip)) {
        json_array_append_new(list, json_string(ip));
        return list;
    }
    if (getifaddrs(&all))
        all = NULL;
    addresses_add(list, all, false);
    addresses_add(list, all, true);
    freeifaddrs(all);
    return list;
}

int uplink_order_write(char **out, const char *ip, const struct uplink_order *order, json_t *nodes,
                       struct fault *why)
{
    char key[DIGITS + 1], *text, *line;
    json_t *o;
    size_t size;

    hex_write(key, order->key, AUTH_SECRET);
    o = json_pack("{s:o, s:i, s:s, s:i, s:i, s:o}", "heads", heads_list(ip), "port", order->port,
                  "key", key, "limit_ms", order->limit_ms, "hosts", order->hosts, "nodes", nodes);
    text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    size = text ? strlen(text) : 0;
    line = text ? malloc(size + 2) : NULL;
    if (line) {
        memcpy(line, text, size);
        memcpy(line + size, "\n", 2);
        *out = line;
    }
    if (text)
        sodium_memzero(text, size);
    sodium_memzero(key, sizeof(key));
    free(text);
    json_decref(o);
    return line ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* --- reading ---------------------------------------------------------------------------------- */

static int refuse(const char *member, struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED, "what mlaunch has sent has no valid '%s'", member);
}

static int heads_take(struct uplink_order *o, const json_t *list, struct fault *why)
{
    size_t count = json_array_size(list);

    if (count == 0 || count > HEADS_MOST)
        return refuse("heads", why);
    o->heads = calloc(count + 1, sizeof(*o->heads));
    for (size_t i = 0; o->heads && i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text || !address_is_literal(text))
            return refuse("heads", why);
        o->heads[i] = strdup(text);
        if (!o->heads[i])
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return o->heads ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* A line for one host needs no name. */
static int node_find(struct uplink_order *o, const json_t *nodes, const char *node,
                     struct fault *why)
{
    size_t count = json_array_size(nodes);

    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(nodes, i);
        const char *name = json_string_value(json_array_get(one, 0));
        json_int_t index = json_integer_value(json_array_get(one, 1));

        if (!name || index < 0 || index >= o->hosts)
            return refuse("nodes", why);
        if (count == 1 || (node && strcmp(name, node) == 0)) {
            o->index = (int)index;
            return 0;
        }
    }
    return fault_set(why, ML_ERR_REFUSED,
                     "%.100s is none of the nodes that mlaunch wants agents on: SLURMD_NODENAME "
                     "has to have a node's name",
                     node ? node : "this host");
}

static int order_take(struct uplink_order *o, const json_t *root, const char *node,
                      struct fault *why)
{
    json_int_t port = json_integer_value(json_object_get(root, "port"));
    json_int_t limit_ms = json_integer_value(json_object_get(root, "limit_ms"));
    json_int_t hosts = json_integer_value(json_object_get(root, "hosts"));
    const char *key = json_string_value(json_object_get(root, "key"));
    int rc;

    if (port < 1 || port > 65535)
        return refuse("port", why);
    if (limit_ms < 1 || limit_ms > LIMIT_MOST_MS)
        return refuse("limit_ms", why);
    if (hosts < 1 || hosts > 65536)
        return refuse("hosts", why);
    if (!key || strlen(key) != DIGITS || !hex_parse(key, o->key, AUTH_SECRET))
        return refuse("key", why);
    o->port = (int)port;
    o->limit_ms = (int)limit_ms;
    o->hosts = (int)hosts;
    rc = heads_take(o, json_object_get(root, "heads"), why);
    return rc ? rc : node_find(o, json_object_get(root, "nodes"), node, why);
}

int uplink_order_parse(struct uplink_order *out, const char *text, size_t size, const char *node,
                       struct fault *why)
{
    struct uplink_order o = {0};
    json_error_t error;
    json_t *root = json_loadb(text, size, 0, &error);
    int rc = root ? order_take(&o, root, node, why)
                  : fault_set(why, ML_ERR_REFUSED, "what mlaunch has sent is no JSON: %.200s",
                              error.text);

    json_decref(root);
    if (rc)
        uplink_order_clear(&o);
    else
        *out = o;
    return rc;
}

/* The bytes up to the end of the line, and with those that have come behind it. */
static int line_read(char **out, size_t *size, int fd, struct fault *why)
{
    size_t room = 4096, used = 0;
    char *line = malloc(room), *end = NULL;
    ssize_t n = 1;

    while (line && !end && n > 0 && used < LINE_MOST) {
        char *longer = used == room ? realloc(line, room *= 2) : line;

        if (!longer)
            break;
        line = longer;
        do
            n = read(fd, line + used, room - used);
        while (n < 0 && errno == EINTR);
        if (n > 0) {
            end = memchr(line + used, '\n', (size_t)n);
            used += (size_t)n;
        }
    }
    if (!line)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = line;
    *size = used;
    return end ? 0 : fault_set(why, ML_ERR_REFUSED, "mlaunch has sent no line");
}

int uplink_order_read(struct uplink_order *out, int fd, const char *node, struct fault *why)
{
    char *line = NULL;
    size_t size = 0;
    int rc = line_read(&line, &size, fd, why);

    if (!rc)
        rc = uplink_order_parse(out, line, strcspn(line, "\n"), node, why);
    if (line)
        sodium_memzero(line, size);
    free(line);
    return rc;
}

void uplink_order_clear(struct uplink_order *o)
{
    for (char **h = o->heads; h && *h; h++)
        free(*h);
    free(o->heads);
    sodium_memzero(o, sizeof(*o));
}
