/* SPDX-License-Identifier: MIT */
/*
 * uplink_edges.h: the connections of the hosts that call this one, which is the head or, with
 * --fanout, a host: the door, who is let in, the frames of each host below, and a watch for hosts
 * that have gone silent. Everything happens on the loop it is given.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_EDGES_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_EDGES_H

#include "common/net/auth.h"
#include "launcher/wire/uplink/stream/uplink_many.h"
#include "launcher/wire/uplink/stream/uplink_stream.h"
#include "launcher/wire/uplink/stream/uplink_tree.h"
#include "launcher/wire/uplink/uplink_parting.h"

#include <stdint.h>

struct event_base;
struct uplink_edges;

struct uplink_edges_config {
    const char *ip; /* to listen on; may be a wildcard */
    int port;
    int self; /* this host's index, or UPLINK_HEAD */
    struct uplink_tree tree;
    const uint8_t *key; /* copied */
};

/* Called from the loop, and on_lost also within a send. */
struct uplink_edges_events {
    void (*on_refused)(const char *text, void *arg); /* somebody was turned away */
    /* A host that belongs below another one. Takes over `fd`. The head alone has it. */
    void (*on_stray)(int fd, int index, const struct auth_keys *keys, const char *from, void *arg);
    void (*on_admitted)(int child, const char *from, void *arg); /* may be NULL */
    /* A frame of a child, or of a host below it. */
    void (*on_frame)(int host, const struct frame *f, void *arg);
    /* Once a connection. uplink_edges_clear() is to follow, outside of these functions. */
    void (*on_lost)(int child, const char *why, void *arg);
    void (*on_room)(int child, void *arg); /* fewer than UPLINK_KEPT bytes are kept for it */
    void *arg;
};

/* ML_ERR_SYSTEM: it cannot listen; ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int uplink_edges_open(struct uplink_edges **out, struct event_base *base,
                      const struct uplink_edges_config *config,
                      const struct uplink_edges_events *events, struct fault *why);
/* Lets nobody in any more, and sends the last frame to all children. */
void uplink_edges_finish(struct uplink_edges *e, int status);
/* No connection is left: all were lost and cleared. */
bool uplink_edges_is_empty(const struct uplink_edges *e);
void uplink_edges_close(struct uplink_edges *e); /* takes NULL */

const char *uplink_edges_where(const struct uplink_edges *e); /* "addr:port" */
struct uplink_partings *uplink_edges_partings(struct uplink_edges *e);

/* How a host below is reached. False: no connection leads to it. */
bool uplink_edges_route(const struct uplink_edges *e, int host, struct uplink_route *out);
/* Passes a frame of UPLINK_MANY on to those below, as it has come. */
void uplink_edges_spread(const struct uplink_edges *e, const struct frame *f,
                         const struct uplink_many *m);
void uplink_edges_fail(struct uplink_edges *e, int host, const char *why); /* its connection */
void uplink_edges_clear(struct uplink_edges *e, int child);
void uplink_edges_sweep(struct uplink_edges *e); /* clears all that were lost */

void uplink_edges_hold(struct uplink_edges *e, bool is_held); /* uplink_stream_hold() of all */
size_t uplink_edges_kept(const struct uplink_edges *e);       /* the most for one child */

/* Turns a connection away that the door has admitted. Takes over `fd`. */
void uplink_edges_refuse(struct uplink_edges *e, int fd, const struct auth_keys *keys,
                         const char *from, const char *text);
/* Why `index` is turned away: its connection, from `from`, is not known to have ended. */
void uplink_edges_describe_taken(char *text, size_t size, int index, const char *from);

#endif
