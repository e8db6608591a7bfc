/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/own_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void own_address_of_ssh(char out[ADDRESS_TEXT])
{
    const char *connection = getenv("SSH_CONNECTION");
    struct address a;

    out[0] = '\0'; /* the third word: %63s is ADDRESS_TEXT - 1 */
    if (!connection || sscanf(connection, "%*s %*s %63s", out) != 1 || !address_is_here(out) ||
        address_make(&a, out, 0, NULL))
        out[0] = '\0';
    else /* the interface of a link-local one by its number: others know that it isn't theirs */
        address_format_ip(&a, out);
}

/* False: it has none of this family, is down, or is a loopback interface. */
static bool interface_address(const struct ifaddrs *i, int family, char out[ADDRESS_TEXT])
{
    struct address a = {.length = sizeof(struct sockaddr_in)};

    if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP) ||
        (i->ifa_flags & IFF_LOOPBACK))
        return false;
    if (family == AF_INET6)
        a.length = sizeof(struct sockaddr_in6);
    memcpy(&a.storage, i->ifa_addr, a.length);
    address_format_ip(&a, out);
    return true;
}

static bool first_of(int family, const struct ifaddrs *list, char out[ADDRESS_TEXT])
{
    while (list && !interface_address(list, family, out))
        list = list->ifa_next;
    return list != NULL;
}

void own_address_list(char *out, size_t size)
{
    struct ifaddrs *list = NULL;
    size_t used = 0;

    out[0] = '\0';
    if (getifaddrs(&list))
        list = NULL;
    for (const struct ifaddrs *i = list; i && used < size; i = i->ifa_next) {
        char text[ADDRESS_TEXT];

        /* Link-local addresses are left out: every interface has one. */
        if (interface_address(i, AF_INET, text) ||
            (interface_address(i, AF_INET6, text) && !strchr(text, '%')))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", text);
    }
    freeifaddrs(list);
}

void own_address_guess(char out[ADDRESS_TEXT])
{
    const char *srun = getenv("SLURM_LAUNCH_NODE_IPADDR"), *head = getenv("MLAUNCH_HEAD");
    static const char outside[] = "192.0.2.1"; /* belongs to no host (RFC 5737); nothing is sent */
    struct ifaddrs *list = NULL;

    if (head && address_towards(head, out, NULL) == 0)
        return;
    if (srun && address_towards(srun, out, NULL) == 0)
        return;
    if (address_towards(outside, out, NULL) == 0)
        return;
    if (getifaddrs(&list))
        list = NULL;
    if (!first_of(AF_INET, list, out) && !first_of(AF_INET6, list, out))
        snprintf(out, ADDRESS_TEXT, "127.0.0.1");
    freeifaddrs(list);
}
