/* SPDX-License-Identifier: MIT */
/* metric_listen.h: where --listen says that the pages are served, and by which names. */
#ifndef LAUNCHER_TOOLS_METRICS_METRIC_LISTEN_H
#define LAUNCHER_TOOLS_METRICS_METRIC_LISTEN_H

#include "common/net/address.h"

struct metric_listen {
    int fd;                     /* the caller's */
    char address[ADDRESS_TEXT]; /* "127.0.0.1:9764" */
    bool is_loopback;
    char name[256]; /* as it was given, or "" */
};

/* Listens on "PORT", which is one of 127.0.0.1, "ADDRESS:PORT", "[ADDRESS]:PORT" or "NAME:PORT", a
 * name of this host. ":PORT" means every address, of which it warns. ML_ERR_ARGUMENT: `where` is
 * none of these; ML_ERR_SYSTEM. */
int metric_listen_open(struct metric_listen *out, const char *where, int backlog,
                       struct fault *why);

/* True if a request may name this Host, "NAME" or "NAME:PORT". On loopback only names of this host
 * are right: a page of another site whose name leads to 127.0.0.1 (DNS rebinding) has that one. */
bool metric_listen_is_host(const struct metric_listen *l, const char *host);

#endif
