/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/taken_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* Binds without SO_REUSEADDR: connections that wait for their end have the port, too. */
static bool is_bound(int family, const void *address, socklen_t size)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_taken = fd >= 0 && bind(fd, address, size) && (errno == EADDRINUSE || errno == EACCES);

    if (fd >= 0)
        close(fd);
    return is_taken;
}

bool port_is_taken(int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    return is_bound(AF_INET, &four, sizeof(four)) || is_bound(AF_INET6, &six, sizeof(six));
}
