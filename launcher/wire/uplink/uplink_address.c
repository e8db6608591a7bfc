/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_address.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/number.h"
#include "launcher/wire/uplink/uplink_patience.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

bool uplink_address_split(const char *text, char host[UPLINK_HOST], int *port)
{
    const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
    size_t size = colon ? (size_t)(colon - text) : 0;
    int64_t number;

    if (!number_parse(digits, 0, 65535, &number) || size >= UPLINK_HOST)
        return false;
    if (size > 0 && text[0] == '[') {
        if (size < 3 || text[size - 1] != ']')
            return false;
        text++;
        size -= 2;
    } else if (memchr(text, ':', size)) {
        return false; /* IPv6 without brackets */
    }
    memcpy(host, text, size);
    host[size] = '\0';
    *port = (int)number;
    return true;
}

/* A link-local address without its interface, or with the number that it has at the head. */
static int scope_set(struct addrinfo *found, const char *host, struct fault *why)
{
    struct sockaddr_in6 *to = (struct sockaddr_in6 *)(void *)found->ai_addr;
    struct address a;
    int rc;

    if (found->ai_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&to->sin6_addr) ||
        !address_is_literal(host))
        return 0;
    rc = address_make_said(&a, host, 0, why);
    if (rc)
        return rc;
    to->sin6_scope_id = ((const struct sockaddr_in6 *)&a.storage)->sin6_scope_id;
    if (to->sin6_scope_id)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%s is link-local, and it is not clear at which of this machine's interfaces: "
                     "write it with one, as [%s%%eth0]",
                     host, host);
}

int uplink_address_find(struct addrinfo **out, const char *host, int port, struct fault *why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char text[16];
    int err;

    snprintf(text, sizeof(text), "%d", port);
    err = getaddrinfo(host, text, &hints, out);
    if (!err) {
        int rc = scope_set(*out, host, why);

        if (rc)
            freeaddrinfo(*out);
        return rc;
    }
    return fault_set(why, ML_ERR_SYSTEM, "the name %s is not known: %s", host,
                     err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
}

/* ML_ERR_ARGUMENT: it is another machine's. */
static int own_find(char ip[ADDRESS_TEXT], const char *host, struct fault *why)
{
    struct addrinfo *list = NULL;
    int rc = uplink_address_find(&list, host, 0, why);

    if (rc)
        return rc;
    rc = ML_ERR_ARGUMENT;
    for (const struct addrinfo *i = list; i && rc; i = i->ai_next) {
        struct address a = {.length = i->ai_addrlen};

        memcpy(&a.storage, i->ai_addr, i->ai_addrlen);
        address_format_ip(&a, ip);
        if (address_is_here(ip))
            rc = 0;
    }
    freeaddrinfo(list);
    return rc ? fault_set(why, rc,
                          "%s is none of this machine's addresses, and index 0 is the head: "
                          "--listen ADDR:PORT says where it is to listen",
                          host)
              : 0;
}

int uplink_address_own(char ip[ADDRESS_TEXT], const char *host, int limit_ms, struct fault *why)
{
    struct uplink_patience p = uplink_patience_begin(limit_ms);
    int rc;

    while ((rc = own_find(ip, host, why)) == ML_ERR_SYSTEM)
        if (!uplink_patience_wait(&p, why))
            return fault_set(why, ML_ERR_TIMEOUT, "%.400s (--init-timeout %d)", p.last,
                             limit_ms / 1000);
    return rc;
}
