/* SPDX-License-Identifier: MIT */
#include "http.h"

#include "../steps/monotonic.h"
#include "http_connection.h"
#include "http_head.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOK_MS = 100, BACKLOG = 512, SEND_ROOM = 64 << 10, TURN_ACCEPTS = 16 };

struct http {
    struct evhttp *evhttp;
    struct evconnlistener *listener; /* evhttp's, once it is bound */
    struct event *look, *turn;
    http_on_request *on_request;
    http_on_refused *on_refused;
    void *arg;
    bool is_stopped, is_loopback;
    char name[256]; /* `host`, as it was given */
    uint32_t count;
    int accepted; /* in this turn of the loop */
    struct http_connection *connections[HTTP_CONNECTIONS_MOST + 1];
};

/* The last reference may still take the socket's old number out of epoll. So this is done before a
 * new connection, which may have the same number, is put into it: in http_on_connection. */
static void connections_forget(struct http *h)
{
    for (uint32_t i = 0; i < h->count;) {
        if (http_connection_is_gone(h->connections[i])) {
            http_connection_free(h->connections[i]);
            h->connections[i] = h->connections[--h->count];
        } else {
            i++;
        }
    }
}

/* The one that gives way to a new one. A client that sends its request at once is never that one
 * for long, so nobody can shut it out by connections that they hold. NULL: none does. */
static struct http_connection *connection_first_out(const struct http *h)
{
    int64_t now_ms = monotonic_ms(), longest = HTTP_FRESH_MS - 1;
    struct http_connection *first = NULL;

    for (uint32_t i = 0; i < h->count; i++) {
        int64_t silent_ms = http_connection_silent_ms(h->connections[i], now_ms);

        if (silent_ms > longest) {
            longest = silent_ms;
            first = h->connections[i];
        }
    }
    return first;
}

static bool has_room(const struct http *h)
{
    return h->count < HTTP_CONNECTIONS_MOST || connection_first_out(h);
}

static void listener_enable(struct http *h)
{
    if (!h->is_stopped && has_room(h))
        evconnlistener_enable(h->listener);
}

static void http_look(evutil_socket_t fd, short what, void *arg)
{
    struct http *h = arg;
    int64_t now_ms = monotonic_ms();

    (void)fd;
    (void)what;
    connections_forget(h);
    for (uint32_t i = 0; i < h->count; i++)
        if (http_connection_is_late(h->connections[i], now_ms))
            http_connection_end(h->connections[i]);
    connections_forget(h);
    listener_enable(h);
}

/* evconnlistener accepts as long as somebody connects. What those have sent who were accepted is
 * read between, or one that has sent its request at once could be taken for a silent one. */
static void http_on_turn(evutil_socket_t fd, short what, void *arg)
{
    struct http *h = arg;

    (void)fd;
    (void)what;
    h->accepted = 0;
    listener_enable(h);
}

/* For want of descriptors the listener stays readable, so the loop would spin until http_look. */
static void http_on_no_accept(struct evconnlistener *listener, void *arg)
{
    (void)arg;
    evconnlistener_disable(listener);
}

/* evhttp asks for a bufferevent for each connection that it has accepted. There is always a place:
 * it accepts none while there is no room. */
static struct bufferevent *http_on_connection(struct event_base *base, void *arg)
{
    static const struct timeval now = {0};
    struct http *h = arg;
    struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
    struct http_connection *first;

    if (!bev)
        return NULL;
    connections_forget(h);
    while (h->count >= HTTP_CONNECTIONS_MOST && (first = connection_first_out(h))) {
        http_connection_end(first);
        connections_forget(h);
    }
    if (h->count <= HTTP_CONNECTIONS_MOST) {
        struct http_connection *c = http_connection_new(bev, h->on_refused, h->arg);

        if (c)
            h->connections[h->count++] = c;
    }
    if (!has_room(h))
        evconnlistener_disable(h->listener);
    if (++h->accepted == TURN_ACCEPTS) {
        evconnlistener_disable(h->listener);
        event_add(h->turn, &now);
    }
    return bev;
}

static struct http_connection *connection_find(struct http *h, struct evhttp_request *request)
{
    struct evhttp_connection *of = evhttp_request_get_connection(request);
    struct bufferevent *bev = of ? evhttp_connection_get_bufferevent(of) : NULL;

    for (uint32_t i = 0; i < h->count; i++) {
        if (http_connection_bev(h->connections[i]) == bev)
            return h->connections[i];
    }
    return NULL;
}

static void request_on_complete(struct evhttp_request *request, void *arg)
{
    struct http_connection *c = connection_find(arg, request);

    if (c)
        http_connection_answer(c);
}

/* TCP_NODELAY: a token is a small message, and the next one must not wait for its acknowledgement.
 * SO_SNDBUF: the kernel would keep megabytes for each client that reads nothing. */
static void http_on_evhttp_request(struct evhttp_request *request, void *arg)
{
    struct http *h = arg;
    struct http_connection *c = connection_find(h, request);
    int on = 1, send_room = SEND_ROOM;

    if (c) {
        int fd = bufferevent_getfd(http_connection_bev(c));

        http_connection_ask(c);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_room, sizeof(send_room));
        evhttp_request_set_on_complete_cb(request, request_on_complete, h);
    }
    h->on_request(request, h->arg);
}

/* A socket that listens at the first of the addresses that takes it. */
static int listen_at(const char *host, uint16_t port, char *error, size_t size)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *all, *a;
    int rc, fd = -1, on = 1;
    char service[8];

    snprintf(service, sizeof(service), "%u", port);
    rc = getaddrinfo(host, service, &hints, &all);
    if (rc) {
        snprintf(error, size, "--host %s: %s", host, gai_strerror(rc));
        return -1;
    }
    for (a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
            break;
        rc = errno;
        close(fd);
        fd = -1;
        errno = rc;
    }
    if (fd < 0)
        snprintf(error, size, "cannot listen on port %u of %s: %s%s", port, host, strerror(errno),
                 errno == EADDRINUSE ? "; choose another one with --port" : "");
    freeaddrinfo(all);
    return fd;
}

static void evhttp_limit(struct evhttp *evhttp)
{
    evhttp_set_max_body_size(evhttp, HTTP_BODY_MOST);
    evhttp_set_max_headers_size(evhttp, HTTP_HEAD_MOST);
    evhttp_set_timeout(evhttp, HTTP_IDLE_S);
    /* What has no route gets our 404 or 405, and not evhttp's 501. */
    evhttp_set_allowed_methods(evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
                                           EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
                                           EVHTTP_REQ_PATCH);
    /* A client that sends too much reads our answer before it learns that we have closed. */
    evhttp_set_flags(evhttp, EVHTTP_SERVER_LINGERING_CLOSE);
}

/* 127.0.0.0/8 or ::1 */
static bool is_loopback(const char *ip)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, ip, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, ip, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_bound_to_loopback(int fd)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof(a);
    char ip[NI_MAXHOST];

    return getsockname(fd, (struct sockaddr *)&a, &size) == 0 &&
           getnameinfo((struct sockaddr *)&a, size, ip, sizeof(ip), NULL, 0, NI_NUMERICHOST) == 0 &&
           is_loopback(ip);
}

/* "" or ":port" */
static bool is_port(const char *text)
{
    return !*text || (*text == ':' && !text[1 + strspn(text + 1, "0123456789")]);
}

/* `value`: "name", "name:port" or "[address]:port" */
static bool is_name_of(const struct http *h, const char *value)
{
    char name[sizeof(h->name)];
    bool is_v6 = value[0] == '[';
    size_t length = strcspn(value + is_v6, is_v6 ? "]" : ":");
    const char *behind = value + is_v6 + length;

    if (length >= sizeof(name) || (is_v6 && !*behind) || !is_port(behind + is_v6))
        return false;
    memcpy(name, value + is_v6, length);
    name[length] = '\0';
    return strcasecmp(name, "localhost") == 0 || strcasecmp(name, h->name) == 0 ||
           is_loopback(name);
}

bool http_is_host(const struct http *h, struct evhttp_request *request)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *host = uri ? evhttp_uri_get_host(uri) : NULL;
    const struct evkeyval *one;

    if (!h->is_loopback)
        return true;
    if (host && !is_name_of(h, host))
        return false;
    for (one = evhttp_request_get_input_headers(request)->tqh_first; one; one = one->next.tqe_next)
        if (strcasecmp(one->key, "Host") == 0 && !is_name_of(h, one->value))
            return false;
    return true;
}

struct http *http_open(struct event_base *base, const char *host, uint16_t port,
                       http_on_request *on_request, http_on_refused *on_refused, void *arg,
                       char *error, size_t size)
{
    struct timeval often = {0, LOOK_MS * 1000L};
    struct http *h = calloc(1, sizeof(*h));
    int fd = listen_at(host, port, error, size);

    if (fd < 0)
        goto fail;
    snprintf(error, size, "out of memory");
    if (!h)
        goto fail;
    snprintf(h->name, sizeof(h->name), "%s", host);
    h->is_loopback = is_bound_to_loopback(fd);
    h->on_request = on_request;
    h->on_refused = on_refused;
    h->arg = arg;
    h->evhttp = evhttp_new(base);
    h->look = event_new(base, -1, EV_PERSIST, http_look, h);
    h->turn = event_new(base, -1, 0, http_on_turn, h);
    if (!h->evhttp || !h->look || !h->turn || event_add(h->look, &often))
        goto fail;
    h->listener =
        evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!h->listener)
        goto fail;
    fd = -1;
    evhttp_limit(h->evhttp);
    evhttp_set_bevcb(h->evhttp, http_on_connection, h);
    evhttp_set_gencb(h->evhttp, http_on_evhttp_request, h);
    if (!evhttp_bind_listener(h->evhttp, h->listener)) {
        evconnlistener_free(h->listener);
        goto fail;
    }
    evconnlistener_set_error_cb(h->listener, http_on_no_accept);
    return h;
fail:
    if (fd >= 0)
        close(fd);
    http_close(h);
    return NULL;
}

uint16_t http_port(const struct http *h)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t length = sizeof(address);

    getsockname(evconnlistener_get_fd(h->listener), &address.any, &length);
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

bool http_is_on_loopback(const struct http *h)
{
    return h->is_loopback;
}

void http_stop_listening(struct http *h)
{
    h->is_stopped = true;
    evconnlistener_disable(h->listener);
}

uint32_t http_connections(struct http *h)
{
    connections_forget(h);
    return h->count;
}

bool http_is_flushed(struct http *h)
{
    connections_forget(h);
    for (uint32_t i = 0; i < h->count; i++) {
        if (evbuffer_get_length(bufferevent_get_output(http_connection_bev(h->connections[i]))))
            return false;
    }
    return true;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    if (h->look)
        event_free(h->look);
    if (h->turn)
        event_free(h->turn);
    if (h->evhttp)
        evhttp_free(h->evhttp);
    connections_forget(h);
    free(h);
}
