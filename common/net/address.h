/* SPDX-License-Identifier: MIT */
/* address.h: numeric IPv4 and IPv6 addresses, as text "a.b.c.d:port" or "[v6]:port", and their
 * sockets. */
#ifndef COMMON_NET_ADDRESS_H
#define COMMON_NET_ADDRESS_H

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT = 64 }; /* bytes of the longest "[address%scope]:port", terminated */

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

bool address_is_literal(const char *text); /* a numeric IPv4 or IPv6 address, nothing else */
bool address_is_loopback(const char *ip);  /* 127.0.0.0/8 or ::1, as text */
bool address_is_every(const char *ip);     /* 0.0.0.0 or ::, as text */

/* Numeric addresses only: no name server is ever asked. address_parse takes "addr:port",
 * address_make the two parts. ML_ERR_ARGUMENT. */
int address_parse(struct address *out, const char *text, struct fault *why);
int address_make(struct address *out, const char *ip, uint16_t port, struct fault *why);
/* As address_make, of an address that another host has said: the interface of a link-local one has
 * another number here. A name is taken as this host's own, as the user has written it. */
int address_make_said(struct address *out, const char *ip, uint16_t port, struct fault *why);
void address_format(const struct address *a, char out[ADDRESS_TEXT]); /* with its port */
void address_format_ip(const struct address *a, char out[ADDRESS_TEXT]);

/* `text`: the address "[ip]:port" that another host has said. If it and own_ip, by which that host
 * knows this one, are link-local, it gets the interface of own_ip instead of its number there. */
void address_take_scope(char text[ADDRESS_TEXT], const char *own_ip);

bool address_is_here(const char *ip); /* a numeric address of this host */

/* Stores the local address that the system would use to reach `peer_ip`. Sends nothing. */
int address_towards(const char *peer_ip, char out[ADDRESS_TEXT], struct fault *why);

/* Opens a listening TCP socket on `ip`, non-blocking and close-on-exec, and stores its address in
 * *bound. A connection comes once it has sent something, or after a second or more. port 0: any.
 * ML_ERR_SYSTEM names address and port; ML_ERR_ARGUMENT: a wildcard address, which is refused. */
int address_listen(const char *ip, uint16_t port, int backlog, int *fd, struct address *bound,
                   struct fault *why);
/* The same, and `ip` may be a wildcard: "::" is every address of IPv6 and of IPv4. */
int address_listen_every(const char *ip, uint16_t port, int backlog, int *fd, struct address *bound,
                         struct fault *why);

/* address_connect_start begins a non-blocking connect. *fd is close-on-exec with TCP_NODELAY and
 * keep-alives; it is connected once it is writable and its SO_ERROR is 0. address_connect waits for
 * that until deadline_ms (clock_ms). ML_ERR_LINK: the network has no way there now; ML_ERR_PEER,
 * ML_ERR_TIMEOUT, or ML_ERR_SYSTEM: this host's loopback interface is down. */
int address_connect_start(const struct address *to, int *fd, struct fault *why);
int address_connect(const struct address *to, int64_t deadline_ms, int *fd, struct fault *why);

/* A socket in a directory, for processes of this host. ML_ERR_ARGUMENT: its path is too long. */
int address_make_local(struct address *out, const char *directory, const char *name,
                       struct fault *why);
/* Makes it, and listens as address_listen does. ML_ERR_SYSTEM. */
int address_listen_local(const struct address *a, int backlog, int *fd, struct fault *why);

/* Accepts a connection: a non-blocking socket, close-on-exec, with TCP_NODELAY and keep-alives.
 * Returns -1 with errno on failure. */
int address_accept(int listener);

/* True if the error of a socket means that the other side had accepted the connection, and then
 * closed it. */
bool address_is_dropped(int err);

/* True if the error of a socket means that the other host did not answer, or no way leads there. */
bool address_is_unreached(int err);

/* True if the other host has not acknowledged what was sent for as long as an idle connection may
 * be silent. The kernel itself would wait for 15 minutes. */
bool address_is_silent(int fd);

/* True if address_accept() failed for want of descriptors or memory. The connection stays queued,
 * so the listener stays readable. */
bool address_is_exhausted(int err);

#endif
