/* SPDX-License-Identifier: MIT */
/* address.h: numeric IPv4 and IPv6 addresses, "a.b.c.d:port" and "[v6]:port", sockets on them. */
#ifndef COMMON_ADDRESS_H
#define COMMON_ADDRESS_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT = 64 }; /* bytes for the longest "[address%scope]:port", terminated */

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

bool address_is_literal(const char *text); /* a numeric IPv4 or IPv6 address, nothing else */
bool address_is_loopback(const char *ip);  /* 127.0.0.0/8 or ::1, as text */

/* Numeric only: never asks a name server. address_parse takes "addr:port"; address_make both parts. */
int address_parse(struct address *out, const char *text, struct fault *why);
int address_make(struct address *out, const char *ip, uint16_t port, struct fault *why);
void address_format(const struct address *a, char out[ADDRESS_TEXT]); /* with the port */
void address_format_ip(const struct address *a, char out[ADDRESS_TEXT]);

/* The local address that the system would use to reach `peer_ip`; nothing is sent. */
int address_towards(const char *peer_ip, char out[ADDRESS_TEXT], struct fault *why);

/* A listening TCP socket on `ip` (never a wildcard), port 0: any; non-blocking, close-on-exec. The
 * sentence of EADDRINUSE names the port. *bound tells where it listens. */
int address_listen(const char *ip, uint16_t port, int backlog, int *fd, struct address *bound,
                   struct fault *why);

/* A non-blocking connect is begun: *fd is close-on-exec, TCP_NODELAY, keepalive; connected once
 * writable and SO_ERROR is 0. address_connect waits for it until deadline_ms (clock_ms). */
int address_connect_start(const struct address *to, int *fd, struct fault *why);
int address_connect(const struct address *to, int64_t deadline_ms, int *fd, struct fault *why);

/* An accepted socket made non-blocking, close-on-exec, TCP_NODELAY, keepalive. -1 and errno. */
int address_accept(int listener);

/* Whether this errno of address_accept means that there are no descriptors or no memory for who is there, who thus stays
 * there: the listener remains readable. */
bool address_is_exhausted(int err);

#endif
