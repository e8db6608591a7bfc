/* SPDX-License-Identifier: MIT */
/*
 * sync_control.h: mlaunch-copier's connection to its agent, by which orders come and reports
 * go. The process blocks wherever it likes, but looks at this connection in each wait: a new chain
 * ends what it does for the old one, and the end of the connection ends the process.
 */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_CONTROL_H
#define LAUNCHER_TOOLS_COPIER_SYNC_CONTROL_H

#include "launcher/tools/copier/sync_order.h"

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct evbuffer;
struct pollfd;

struct sync_control {
    int fd;
    struct frame_reader *reader;
    struct evbuffer *fed;    /* bytes of the stream that mlaunch has sent for this round */
    struct sync_place place; /* the newest */
    bool has_moved;          /* `place` has come and was not obeyed yet */
};

/* ML_ERR_MEMORY. */
int sync_control_open(struct sync_control *c, int fd, struct fault *why);

/* Waits for the order to begin. Does not return if the connection ends. ML_ERR_REFUSED. */
int sync_control_begin(struct sync_control *c, struct sync_order *out, struct fault *why);

/* Waits until `fd` (-1: none) is ready for `events` of poll(), an order has come, or deadline_ms
 * (clock_ms; -1: never) is over. True: `fd` is ready. Does not return if the connection ends. */
bool sync_control_wait(struct sync_control *c, int fd, short events, int64_t deadline_ms);
/* The same for any number of descriptors, whose `revents` it sets. polls[0] is left for it. */
void sync_control_poll(struct sync_control *c, struct pollfd *polls, int count,
                       int64_t deadline_ms);

/* Takes at most `size` of the bytes that mlaunch has fed; 0: there are none. */
size_t sync_control_take(struct sync_control *c, void *bytes, size_t size);

/* A report. */
void sync_control_send(struct sync_control *c, int type, const void *payload, size_t size);
void sync_control_send_json(struct sync_control *c, int type, json_t *object); /* takes over */

#endif
