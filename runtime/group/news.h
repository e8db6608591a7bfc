/* SPDX-License-Identifier: MIT */
/*
 * news.h: what the coordinator tells this process, kept for the groups that it concerns. Whichever
 * thread waits reads for all: news counts its frames (news_serial), and rings the bells of the
 * other groups. All of it may be called by any thread.
 */
#ifndef RUNTIME_GROUP_NEWS_H
#define RUNTIME_GROUP_NEWS_H

#include "common/fault.h"
#include "coordinator/client.h"
#include "runtime/group/group.h"

#include <jansson.h>

enum peer_state { PEER_PRESENT, PEER_DEAD, PEER_LEFT };

struct news;

/* Takes over the connection `c`; NULL: this process was not launched, and there will be none. */
int news_open(struct news **out, struct client *c, int size, struct fault *why);
void news_close(struct news *n); /* takes NULL */

int news_fd(const struct news *n);          /* readable: news_read; -1: none, or lost */
uint32_t news_serial(const struct news *n); /* changes with every piece of news */

/* Groups hear of what concerns them from news_add to news_remove. */
void news_add(struct news *n, struct group *g);
void news_remove(struct news *n, struct group *g);
struct group *news_other_group(struct news *n, const struct group *than); /* any, or NULL */
struct group *news_busy_group(struct news *n); /* any on which something started is under way */

/* Takes in whatever is there, without waiting. `reader` (or NULL) needs no ringing. */
void news_read(struct news *n, const struct group *reader);

/* Whether the coordinator broke g, or is lost: ML_ERR_* with the sentence; 0 if not. */
int news_broken(struct news *n, const struct group *g, struct fault *why);

/* What is known of a world rank; unless PEER_PRESENT, `why` is filled with ML_ERR_PEER. */
enum peer_state news_peer(struct news *n, int rank, struct fault *why);

/* The oldest object that a member of g had relayed (COORD_RELAY), to be released by the caller, and
 * its world rank; NULL: there is none. */
json_t *news_mail(struct news *n, struct group *g, int *from);

/* Says something: JSON (the reference is taken over, NULL: out of memory) or bytes. */
int news_tell(struct news *n, uint8_t type, json_t *payload, struct fault *why);
int news_tell_bytes(struct news *n, uint8_t type, const void *payload, uint32_t size,
                    struct fault *why);

/* Tells all members of g that nothing goes any more on it, and why. */
void news_break(struct news *n, const struct group *g, const struct fault *why);

/* Waits for the reply to g's exchange or split number g->exchanges; the caller frees out->payload.
 * ML_ERR_PEER if a member is gone before. deadline_ms: -1: none. */
int news_await(struct news *n, struct group *g, int64_t deadline_ms, struct reply *out,
               struct fault *why);

/* The answers to JOIN (WELCOME; FAILED is returned as a fault) and to LEAVE and ABORT (LEFT). */
int news_await_welcome(struct news *n, int64_t deadline_ms, json_t **welcome, struct fault *why);
int news_await_left(struct news *n, int rank, int64_t deadline_ms, struct fault *why);

#endif
