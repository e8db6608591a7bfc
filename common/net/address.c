/* SPDX-License-Identifier: MIT */
#include "common/net/address.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/number.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Splits "fe80::1%eth0". *scope is NULL if there is none. False: the address is too long. */
static bool split_scope(const char *text, char ip[ADDRESS_TEXT], const char **scope)
{
    size_t size = strcspn(text, "%");

    if (size >= ADDRESS_TEXT)
        return false;
    memcpy(ip, text, size);
    ip[size] = '\0';
    *scope = text[size] ? text + size + 1 : NULL;
    return true;
}

bool address_is_literal(const char *text)
{
    char ip[ADDRESS_TEXT];
    struct in6_addr bytes;
    const char *scope;

    if (!split_scope(text, ip, &scope))
        return false;
    if (!scope && inet_pton(AF_INET, ip, &bytes) == 1)
        return true;
    return inet_pton(AF_INET6, ip, &bytes) == 1 &&
           (!scope || (*scope && strlen(scope) < IF_NAMESIZE));
}

bool address_is_loopback(const char *ip)
{
    return strncmp(ip, "127.", 4) == 0 || strcmp(ip, "::1") == 0;
}

/* Finds the interface of an IPv6 address by its name or number. */
static bool find_scope(const char *scope, uint32_t *out)
{
    int64_t number;

    *out = if_nametoindex(scope);
    if (*out)
        return true;
    if (!number_parse(scope, 1, UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

/* The interface over which this host reaches the link-local address `peer`, for whose host it has
 * another number: the one that has this very address, else the only one that is up and has a
 * link-local address. 0: there is none, or more than one. */
static uint32_t own_scope(const struct in6_addr *peer)
{
    struct ifaddrs *list = NULL;
    uint32_t only = 0;
    bool are_several = false;

    if (getifaddrs(&list))
        return 0;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;

        if (!a || a->sin6_family != AF_INET6 || !(i->ifa_flags & IFF_UP) ||
            !IN6_IS_ADDR_LINKLOCAL(&a->sin6_addr))
            continue;
        if (memcmp(&a->sin6_addr, peer, sizeof(*peer)) == 0) {
            only = a->sin6_scope_id;
            are_several = false;
            break;
        }
        are_several |= only && only != a->sin6_scope_id;
        only = a->sin6_scope_id;
    }
    freeifaddrs(list);
    return are_several ? 0 : only;
}

int address_make(struct address *out, const char *ip, uint16_t port, struct fault *why)
{
    struct address a = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a.storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a.storage;
    char plain[ADDRESS_TEXT];
    const char *scope;

    if (!address_is_literal(ip) || !split_scope(ip, plain, &scope))
        return fault_set(why, ML_ERR_ARGUMENT, "\"%.64s\" is not a numeric IPv4 or IPv6 address",
                         ip);
    if (inet_pton(AF_INET, plain, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        a.length = sizeof(*v4);
    } else {
        memset(&a, 0, sizeof(a));
        inet_pton(AF_INET6, plain, &v6->sin6_addr);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        if (scope && !find_scope(scope, &v6->sin6_scope_id))
            return fault_set(why, ML_ERR_ARGUMENT, "%.64s: there is no interface %.16s here", ip,
                             scope);
        if (!scope && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            v6->sin6_scope_id = own_scope(&v6->sin6_addr);
        a.length = sizeof(*v6);
    }
    *out = a;
    return 0;
}

int address_make_said(struct address *out, const char *ip, uint16_t port, struct fault *why)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->storage;
    const char *scope = strchr(ip, '%');
    int64_t number;
    uint32_t own;
    int rc = address_make(out, ip, port, why);

    if (!rc && scope && number_parse(scope + 1, 1, UINT32_MAX, &number) &&
        IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && (own = own_scope(&v6->sin6_addr)))
        v6->sin6_scope_id = own;
    return rc;
}

int address_parse(struct address *out, const char *text, struct fault *why)
{
    const char *colon = strrchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : 0;
    char ip[ADDRESS_TEXT];
    int64_t port;

    if (size == 0 || size >= sizeof(ip) || !number_parse(colon + 1, 0, 65535, &port))
        goto malformed;
    memcpy(ip, text, size);
    ip[size] = '\0';
    if (ip[0] == '[') {
        if (size < 3 || ip[size - 1] != ']' || !memchr(ip, ':', size))
            goto malformed;
        ip[size - 1] = '\0';
        return address_make_said(out, ip + 1, (uint16_t)port, why);
    }
    if (strchr(ip, ':')) /* IPv6 without brackets: the port cannot be told apart */
        goto malformed;
    return address_make(out, ip, (uint16_t)port, why);
malformed:
    return fault_set(why, ML_ERR_ARGUMENT, "\"%.80s\" is not ADDRESS:PORT or [ADDRESS]:PORT", text);
}

void address_format_ip(const struct address *a, char out[ADDRESS_TEXT])
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->storage;
    size_t size;

    snprintf(out, ADDRESS_TEXT, "?");
    if (a->storage.ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, out, ADDRESS_TEXT);
    } else if (a->storage.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, out, ADDRESS_TEXT);
        size = strlen(out);
        if (v6->sin6_scope_id)
            snprintf(out + size, ADDRESS_TEXT - size, "%%%u", v6->sin6_scope_id);
    }
}

void address_format(const struct address *a, char out[ADDRESS_TEXT])
{
    bool is_v6 = a->storage.ss_family == AF_INET6;
    uint16_t port = ntohs(is_v6 ? ((const struct sockaddr_in6 *)&a->storage)->sin6_port
                                : ((const struct sockaddr_in *)&a->storage)->sin_port);
    char ip[ADDRESS_TEXT];

    if (a->storage.ss_family == AF_UNIX) {
        snprintf(out, ADDRESS_TEXT, "%.63s", ((const struct sockaddr_un *)&a->storage)->sun_path);
        return;
    }
    address_format_ip(a, ip);
    /* The longest: 45 for the address, 11 for the scope, 8 around them. */
    snprintf(out, ADDRESS_TEXT, is_v6 ? "[%.56s]:%u" : "%.56s:%u", ip, port);
}

void address_take_scope(char text[ADDRESS_TEXT], const char *own_ip)
{
    struct address own, peer;
    const struct sockaddr_in6 *mine = (const struct sockaddr_in6 *)&own.storage;
    struct sockaddr_in6 *theirs = (struct sockaddr_in6 *)&peer.storage;

    if (text[0] != '[' || address_make(&own, own_ip, 0, NULL) || address_parse(&peer, text, NULL))
        return;
    if (own.storage.ss_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&theirs->sin6_addr) ||
        !mine->sin6_scope_id)
        return;
    theirs->sin6_scope_id = mine->sin6_scope_id;
    address_format(&peer, text);
}

int address_towards(const char *peer_ip, char out[ADDRESS_TEXT], struct fault *why)
{
    struct address peer, mine = {.length = sizeof(mine.storage)};
    int fd, rc = address_make_said(&peer, peer_ip, 9, why);

    /* The port is any one: connecting UDP sends nothing. */
    if (rc)
        return rc;
    fd = socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "socket");
    if (connect(fd, (struct sockaddr *)&peer.storage, peer.length) ||
        getsockname(fd, (struct sockaddr *)&mine.storage, &mine.length))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "no route from this host to %s", peer_ip);
    else
        address_format_ip(&mine, out);
    close(fd);
    return rc;
}

bool address_is_here(const char *ip)
{
    struct address a;
    bool is_bound;
    int fd;

    if (address_make(&a, ip, 0, NULL))
        return false;
    fd = socket(a.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    is_bound = fd >= 0 && bind(fd, (struct sockaddr *)&a.storage, a.length) == 0;
    if (fd >= 0)
        close(fd);
    return is_bound;
}

static bool is_wildcard(const struct address *a)
{
    if (a->storage.ss_family == AF_INET)
        return ((const struct sockaddr_in *)&a->storage)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&a->storage)->sin6_addr);
}

bool address_is_every(const char *ip)
{
    struct address a;

    return address_make(&a, ip, 0, NULL) == 0 && is_wildcard(&a);
}

int address_listen_every(const char *ip, uint16_t port, int backlog, int *fd, struct address *bound,
                         struct fault *why)
{
    struct address a;
    char text[ADDRESS_TEXT];
    int one = 1, zero = 0, s, rc = address_make(&a, ip, port, why);

    if (rc)
        return rc;
    address_format(&a, text);
    s = socket(a.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket for %s", text);
    /* Connections of an earlier job that linger on a fixed port must not block it. */
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    /* Who connects speaks first: whoever says nothing stays in the kernel, for a second. */
    setsockopt(s, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one));
    if (a.storage.ss_family == AF_INET6 && is_wildcard(&a))
        setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    a.length =
        a.storage.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (bind(s, (struct sockaddr *)&a.storage, a.length) || listen(s, backlog) ||
        getsockname(s, (struct sockaddr *)&a.storage, &a.length)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot listen on %s", text);
        close(s);
        return rc;
    }
    *fd = s;
    *bound = a;
    return 0;
}

int address_listen(const char *ip, uint16_t port, int backlog, int *fd, struct address *bound,
                   struct fault *why)
{
    struct address a;
    char text[ADDRESS_TEXT];
    int rc = address_make(&a, ip, port, why);

    if (rc)
        return rc;
    address_format(&a, text);
    if (is_wildcard(&a))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: refusing to listen on every address", text);
    return address_listen_every(ip, port, backlog, fd, bound, why);
}

int address_make_local(struct address *out, const char *directory, const char *name,
                       struct fault *why)
{
    struct address a = {0};
    struct sockaddr_un *local = (struct sockaddr_un *)&a.storage;
    int size;

    local->sun_family = AF_UNIX;
    size = snprintf(local->sun_path, sizeof(local->sun_path), "%s/%s", directory, name);
    if (size < 0 || size >= (int)sizeof(local->sun_path))
        return fault_set(why, ML_ERR_ARGUMENT, "%.200s/%s is too long for the path of a socket",
                         directory, name);
    a.length = sizeof(*local);
    *out = a;
    return 0;
}

int address_listen_local(const struct address *a, int backlog, int *fd, struct fault *why)
{
    int rc, s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (s < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket");
    fchmod(s, 0600); /* the file gets it */
    if (bind(s, (const struct sockaddr *)&a->storage, a->length) || listen(s, backlog)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot listen on %s",
                      ((const struct sockaddr_un *)&a->storage)->sun_path);
        close(s);
        return rc;
    }
    *fd = s;
    return 0;
}

static void socket_tune(int fd)
{
    int one = 1, idle = TCP_PROBE_AFTER_S, interval = TCP_PROBE_AGAIN_S, probes = TCP_PROBES;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

static int connect_refuse(const struct address *to, int err, struct fault *why)
{
    char text[ADDRESS_TEXT], ip[ADDRESS_TEXT];

    address_format(to, text);
    address_format_ip(to, ip);
    /* Not a peer's fault: a new network namespace begins like this. */
    if (address_is_loopback(ip) && (err == ENETUNREACH || err == EINVAL))
        return fault_set(why, ML_ERR_SYSTEM,
                         "cannot connect to %s: the loopback interface is down (ip link set lo up)",
                         text);
    return fault_os(why, address_is_unreached(err) ? ML_ERR_LINK : ML_ERR_PEER, err,
                    "cannot connect to %s", text);
}

int address_connect_start(const struct address *to, int *fd, struct fault *why)
{
    int rc, s = socket(to->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (s < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket");
    socket_tune(s);
    if (connect(s, (const struct sockaddr *)&to->storage, to->length) && errno != EINPROGRESS) {
        /* A local socket whose queue of connections is full. */
        if (errno == EAGAIN && to->storage.ss_family == AF_UNIX)
            rc = fault_os(why, ML_ERR_TIMEOUT, errno, "cannot connect yet");
        else
            rc = connect_refuse(to, errno, why);
        close(s);
        return rc;
    }
    *fd = s;
    return 0;
}

int address_connect(const struct address *to, int64_t deadline_ms, int *fd, struct fault *why)
{
    struct pollfd p = {.events = POLLOUT};
    socklen_t size = sizeof(int);
    char text[ADDRESS_TEXT];
    int n, err = 0, rc = address_connect_start(to, &p.fd, why);

    if (rc)
        return rc;
    do
        n = clock_poll(&p, 1, deadline_ms);
    while (n < 0 && errno == EINTR);
    if (n < 0 || (n > 0 && getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &size)))
        err = errno;
    if (address_is_dropped(err)) /* already, but only after it was connected: the caller will see */
        err = 0;
    if (n > 0 && !err) {
        *fd = p.fd;
        return 0;
    }
    if (n == 0) {
        address_format(to, text);
        rc = fault_set(why, ML_ERR_TIMEOUT, "cannot connect to %s: no answer in time", text);
    } else {
        rc = connect_refuse(to, err, why);
    }
    close(p.fd);
    return rc;
}

int address_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0)
        socket_tune(fd);
    return fd;
}

bool address_is_dropped(int err)
{
    return err == ECONNRESET || err == EPIPE;
}

bool address_is_unreached(int err)
{
    return err == ETIMEDOUT || err == EHOSTUNREACH || err == ENETUNREACH || err == EHOSTDOWN ||
           err == ENETDOWN;
}

/* A reader that is slow closes its window, and nothing is unacknowledged then. */
bool address_is_silent(int fd)
{
    struct tcp_info i = {0};
    socklen_t size = sizeof(i);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &size) == 0 && i.tcpi_unacked > 0 &&
           i.tcpi_retransmits >= TCP_PROBES && i.tcpi_last_ack_recv >= TCP_SILENCE_MS;
}

bool address_is_exhausted(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}
