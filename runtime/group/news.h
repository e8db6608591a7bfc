/* SPDX-License-Identifier: MIT */
/*
 * news.h: what the coordinator tells this process, kept for the groups that it concerns. Whichever
 * thread waits reads for all of them: news counts its frames (news_serial) and rings the bells of
 * the other groups. Any thread may call any function, but a group's inbox is emptied only by the
 * thread that uses the group.
 */
#ifndef RUNTIME_GROUP_NEWS_H
#define RUNTIME_GROUP_NEWS_H

#include "common/fault.h"
#include "coordinator/client.h"
#include "runtime/group/group.h"

#include <jansson.h>

struct news;

/* Takes over the connection `c`, but not in error. NULL: this process was not launched, and has no
 * coordinator. ML_ERR_MEMORY. */
int news_open(struct news **out, struct client *c, int size, struct fault *why);
void news_close(struct news *n); /* takes NULL */

int news_fd(const struct news *n); /* to poll: readable when news_read is due; -1: none, or lost */
uint32_t news_serial(const struct news *n); /* changes with each piece of news */

/* A group gets its news from news_add until news_remove. */
void news_add(struct news *n, struct group *g);
void news_remove(struct news *n, struct group *g);
struct group *news_other_group(struct news *n,
                               const struct group *than); /* any other one, or NULL */
struct group *
news_busy_group(struct news *n); /* one on which something that was started is under way, or NULL */

/* Reads the frames that have arrived, without waiting. `reader` (or NULL) is the caller's group,
 * whose bell is not rung. */
void news_read(struct news *n, const struct group *reader);

/* 0, or the code and the sentence with which the coordinator broke g or was lost. */
int news_broken(struct news *n, const struct group *g, struct fault *why);

/* The state of a world rank; unless it is PEER_PRESENT, `why` gets ML_ERR_PEER. */
enum peer_state news_peer(struct news *n, int rank, struct fault *why);

/* The oldest JSON object that a member of g sent through the coordinator (COORD_RELAY), to be
 * released by the caller; *from: its world rank. NULL: there is none. */
json_t *news_mail(struct news *n, struct group *g, int *from);

/* Sends the coordinator a frame: JSON, whose reference is taken over (NULL: there was no memory for
 * it), or bytes. 0 without a coordinator; ML_ERR_PEER once it is lost. */
int news_tell(struct news *n, uint8_t type, json_t *payload, struct fault *why);
int news_tell_bytes(struct news *n, uint8_t type, const void *payload, uint32_t size,
                    struct fault *why);

/* Breaks g: every call of all its members fails with `why` from now on. */
void news_break(struct news *n, const struct group *g, const struct fault *why);

/* Waits for the reply to g's exchange or split number g->exchanges; the caller frees out->payload.
 * ML_ERR_PEER if a member is gone, the code with which g was broken, ML_ERR_TIMEOUT at deadline_ms
 * (clock_ms; -1: never). */
int news_await(struct news *n, struct group *g, int64_t deadline_ms, struct reply *out,
               struct fault *why);

/* Wait for the answer to JOIN (WELCOME, to be released by the caller; FAILED is returned as a
 * fault), and for the answer to LEAVE or ABORT (LEFT). ML_ERR_TIMEOUT at deadline_ms. */
int news_await_welcome(struct news *n, int64_t deadline_ms, json_t **welcome, struct fault *why);
int news_await_left(struct news *n, int rank, int64_t deadline_ms, struct fault *why);

#endif
