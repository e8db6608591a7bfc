/* SPDX-License-Identifier: MIT */
/* stream_ask.h: one question to a server of this host, over TCP or a local socket, which answers
 * and closes the connection. Nothing here ever waits. */
#ifndef LAUNCHER_AGENT_EVIDENCE_STREAM_ASK_H
#define LAUNCHER_AGENT_EVIDENCE_STREAM_ASK_H

#include "common/net/address.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { STREAM_ASK_MOST = 32 << 20 }; /* bytes of an answer that are kept */

struct stream_ask {
    int fd;           /* -1: the answer has ended */
    const char *rest; /* what is still to be sent */
    bool was_heard;   /* the server has taken the question */
    char *text;       /* terminated; NULL: nothing yet */
    size_t size, room;
};

/* The question must outlive the struct. False: nobody listens there. */
bool stream_ask_open(struct stream_ask *a, const struct address *to, const char *question);
/* Ends the question, and releases the answer. */
void stream_ask_close(struct stream_ask *a);

/* What poll() is to wait for; its fd is -1 if the answer has ended. */
struct pollfd stream_ask_poll(const struct stream_ask *a);
/* Sends and receives as much as is possible now. */
void stream_ask_run(struct stream_ask *a);

#endif
