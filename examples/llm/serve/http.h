/* SPDX-License-Identifier: MIT */
/*
 * http.h: the listening socket and its connections, on libevent's evhttp, with the limits that it
 * lacks: how many connections there may be, and how long one may take to say what it wants.
 *
 * Everything here is for the loop's thread.
 */
#ifndef LLM_SERVE_HTTP_H
#define LLM_SERVE_HTTP_H

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_CONNECTIONS_MOST = 256, /* more wait in the kernel until one of these ends */
    HTTP_BODY_MOST = 4 << 20,    /* bytes */
    HTTP_HEADERS_MOST = 16 << 10,
    HTTP_IDLE_S = 30,    /* a connection without progress is closed */
    HTTP_REQUEST_S = 60, /* and one whose request has not come whole by then */
};

struct http;

/* Called for each request that has come whole; it is answered by reply.h. */
typedef void http_on_request(struct evhttp_request *request, void *arg);

/* Listens. host: an address or a name; port 0: any. NULL: `error` has a sentence. */
struct http *http_open(struct event_base *base, const char *host, uint16_t port,
                       http_on_request *on_request, void *arg, char *error, size_t size);
uint16_t http_port(const struct http *h);
/* True if the request names this server. On loopback its Host must be localhost, a loopback address
 * or `host`: a page of another site whose name leads to 127.0.0.1 (DNS rebinding) has its own. */
bool http_is_host(const struct http *h, struct evhttp_request *request);
void http_stop_listening(struct http *h);
uint32_t http_connections(struct http *h);
bool http_is_flushed(struct http *h); /* nothing waits to be sent */
void http_close(struct http *h);      /* with all connections; takes NULL */

#endif
