/* SPDX-License-Identifier: MIT */
/*
 * http.h: the listening socket and its connections, on libevent's evhttp, with the limits that it
 * lacks: how many connections there may be, and whose gives way to a new one.
 *
 * Everything here is for the loop's thread.
 */
#ifndef LLM_HTTP_HTTP_H
#define LLM_HTTP_HTTP_H

#include "http_connection.h"

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* One more pushes out the one that has been without a whole request for longest, if that is
     * HTTP_FRESH_MS. While all have one, more wait in the kernel. */
    HTTP_CONNECTIONS_MOST = 256,
    HTTP_FRESH_MS = 250,
};

struct http;

/* Called for each request that has come whole; it is answered by reply.h. */
typedef void http_on_request(struct evhttp_request *request, void *arg);

/* Listens. host: an address or a name; port 0: any. NULL: `error` has a sentence. */
struct http *http_open(struct event_base *base, const char *host, uint16_t port,
                       http_on_request *on_request, http_on_refused *on_refused, void *arg,
                       char *error, size_t size);
uint16_t http_port(const struct http *h);
bool http_is_on_loopback(const struct http *h); /* only programs of this host reach it */
/* True if the request names this server. On loopback its Host must be localhost, a loopback address
 * or `host`: a page of another site whose name leads to 127.0.0.1 (DNS rebinding) has its own. */
bool http_is_host(const struct http *h, struct evhttp_request *request);
void http_stop_listening(struct http *h);
uint32_t http_connections(struct http *h);
bool http_is_flushed(struct http *h); /* nothing waits to be sent */
void http_close(struct http *h);      /* with all connections; takes NULL */

#endif
