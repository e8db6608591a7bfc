/* SPDX-License-Identifier: MIT */
/*
 * http_connection.h: one connection of a client, with what evhttp lacks: how long it may take to
 * say what it wants, and heads that are looked at before evhttp reads them (http_head.h).
 *
 *     IDLE ──a byte──▶ HEAD ──whole──▶ BODY ──whole──▶ ASKED ──answered──▶ IDLE
 *                        └── refused ──┴──▶ REFUSED ──answered, its end──▶ gone
 */
#ifndef LLM_HTTP_HTTP_CONNECTION_H
#define LLM_HTTP_HTTP_CONNECTION_H

#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HTTP_IDLE_S = 30, /* from an answer to the next request */
    HTTP_HEAD_S = 5,  /* for a head, and from the connection to the first */
    HTTP_BODY_S = 60,
};

struct http_connection;

/* A request is refused here, with this status. Returns the JSON text that answers it, in which the
 * sentence says why; the connection frees it. NULL (no memory): the answer is empty. */
typedef char *http_on_refused(int status, const char *sentence, void *arg);

/* `bev` is about to be evhttp's; the connection keeps a reference. NULL: no memory. */
struct http_connection *http_connection_new(struct bufferevent *bev, http_on_refused *on_refused,
                                            void *arg);
void http_connection_free(struct http_connection *c);
struct bufferevent *http_connection_bev(const struct http_connection *c);
bool http_connection_is_gone(const struct http_connection *c); /* evhttp has freed it */

/* A request has come whole; it was answered. */
void http_connection_ask(struct http_connection *c);
void http_connection_answer(struct http_connection *c);

/* True once it has taken longer than it may. */
bool http_connection_is_late(const struct http_connection *c, int64_t now_ms);
/* For how long it has had no request that is whole; -1: it has one. */
int64_t http_connection_silent_ms(const struct http_connection *c, int64_t now_ms);

/* Closes it; evhttp frees what is its. Not within a callback of its bufferevent. */
void http_connection_end(struct http_connection *c);

#endif
