/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_listen.h"

#include "common/log.h"
#include "common/text/number.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Splits "[name]:port", "name:port" or "port". False: it is none of them. */
static bool where_split(const char *where, char *name, size_t size, uint16_t *port)
{
    const char *colon = strrchr(where, ':');
    size_t length = colon ? (size_t)(colon - where) : 0;
    int64_t number;

    if (!number_parse(colon ? colon + 1 : where, 0, UINT16_MAX, &number) || length >= size)
        return false;
    *port = (uint16_t)number;
    if (length > 1 && where[0] == '[' && where[length - 1] == ']') {
        where++;
        length -= 2;
    } else if (memchr(where, ':', length) || memchr(where, '[', length)) {
        return false;
    }
    snprintf(name, size, "%.*s", (int)length, colon ? where : "");
    return true;
}

static int name_listen(struct metric_listen *out, uint16_t port, int backlog, struct address *bound,
                       struct fault *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    int rc = getaddrinfo(out->name, NULL, &hints, &all);

    if (rc)
        return fault_set(why, ML_ERR_ARGUMENT, "\"%.80s\" is not an address: %s", out->name,
                         gai_strerror(rc));
    for (const struct addrinfo *a = all; a; a = a->ai_next) {
        struct address one = {.length = a->ai_addrlen};
        char ip[ADDRESS_TEXT];

        memcpy(&one.storage, a->ai_addr, a->ai_addrlen);
        address_format_ip(&one, ip);
        rc = address_listen(ip, port, backlog, &out->fd, bound, why);
        if (!rc)
            break;
    }
    freeaddrinfo(all);
    return rc;
}

static int every_listen(struct metric_listen *out, uint16_t port, int backlog,
                        struct address *bound, struct fault *why)
{
    const char *ip = *out->name ? out->name : "::";
    int rc = address_listen_every(ip, port, backlog, &out->fd, bound, why);

    if (rc && !*out->name) /* this host has no IPv6 */
        rc = address_listen_every("0.0.0.0", port, backlog, &out->fd, bound, why);
    if (!rc)
        log_warn("--listen: whoever reaches any address of this host sees which users run which "
                 "jobs; there is neither encryption nor a password");
    return rc;
}

int metric_listen_open(struct metric_listen *out, const char *where, int backlog, struct fault *why)
{
    char ip[ADDRESS_TEXT];
    struct address bound;
    uint16_t port;
    int rc;

    *out = (struct metric_listen){.fd = -1};
    if (!where_split(where, out->name, sizeof(out->name), &port))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--listen needs PORT, ADDRESS:PORT, [IPv6]:PORT, NAME:PORT or :PORT, and "
                         "not '%.80s'",
                         where);
    if (!strchr(where, ':'))
        snprintf(out->name, sizeof(out->name), "127.0.0.1");
    if (!*out->name || address_is_every(out->name))
        rc = every_listen(out, port, backlog, &bound, why);
    else if (address_is_literal(out->name))
        rc = address_listen(out->name, port, backlog, &out->fd, &bound, why);
    else
        rc = name_listen(out, port, backlog, &bound, why);
    if (rc)
        return fault_wrap(why, "--listen %.80s", where);
    address_format(&bound, out->address);
    address_format_ip(&bound, ip);
    out->is_loopback = address_is_loopback(ip);
    return 0;
}

bool metric_listen_is_host(const struct metric_listen *l, const char *host)
{
    char text[sizeof(l->name) + 8], name[sizeof(l->name)];
    bool has_port = host[0] == '[' ? strstr(host, "]:") != NULL : strchr(host, ':') != NULL;
    uint16_t port;

    if (!l->is_loopback)
        return true;
    if (strlen(host) >= sizeof(l->name))
        return false;
    snprintf(text, sizeof(text), "%s%s", host, has_port ? "" : ":80");
    return where_split(text, name, sizeof(name), &port) &&
           (strcasecmp(name, "localhost") == 0 || strcasecmp(name, l->name) == 0 ||
            (address_is_literal(name) && address_is_loopback(name)));
}
