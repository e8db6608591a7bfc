/* SPDX-License-Identifier: MIT */
/*
 * reply.h: how a request is answered: at once, later, or piece by piece; and whether its client is
 * still there.
 *
 * A client that has closed its connection, or its sending half, is gone. evhttp does not look at a
 * connection while a request on it waits, and crashes if it is made to (libevent 2.1.12), so reply
 * watches the socket itself.
 */
#ifndef LLM_HTTP_REPLY_H
#define LLM_HTTP_REPLY_H

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>

enum { REPLY_WAITING_MOST = 256 << 10 }; /* bytes of a stream that its client has not taken */

/* Answers at once. text may be NULL with length 0; retry_s: 0, or for the header Retry-After. */
void reply_send(struct evhttp_request *request, int status, const char *type, const char *text,
                size_t length, int retry_s);

/* An answer that comes later. */
struct http_reply;
typedef void reply_on_gone(void *arg);

/* The client's going is on_gone(arg), once; the reply is then freed already. NULL: no memory; the
 * request is still the caller's to answer. */
struct http_reply *reply_open(struct event_base *base, struct evhttp_request *request,
                              reply_on_gone *on_gone, void *arg);

/* From now on the client's going is told to on_gone(arg). */
void reply_pass(struct http_reply *r, reply_on_gone *on_gone, void *arg);

/* Answers, and frees r. */
void reply_finish(struct http_reply *r, int status, const char *text, size_t length, int retry_s);

/* The same in pieces: events of a stream (Content-Type text/event-stream). reply_event returns
 * false if the client takes nothing: its connection is closed then, and r freed, without
 * on_gone. */
void reply_stream(struct http_reply *r);
bool reply_event(struct http_reply *r, const char *text, size_t length);
void reply_stream_end(struct http_reply *r); /* frees r */

/* Closes the connection, and frees r; without on_gone. */
void reply_drop(struct http_reply *r);

#endif
