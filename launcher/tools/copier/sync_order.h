/* SPDX-License-Identifier: MIT */
/* sync_order.h: what mlaunch orders a host's mlaunch-copier to do, parsed and checked. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_ORDER_H
#define LAUNCHER_TOOLS_COPIER_SYNC_ORDER_H

#include "common/net/auth.h"
#include "common/rdma_choice.h"
#include "common/text/port_name.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYNC_ROOTS_MOST = 1000 };

/* One PATH of the command: the name `name` in the directory `directory`. */
struct sync_root {
    const char *directory, *name;
};

struct sync_order {
    json_t *json; /* owns all strings */
    const char *job;
    uint8_t secret[AUTH_SECRET];
    int host;       /* this one's number */
    const char *ip; /* to listen on */
    struct sync_root *roots;
    int root_count;
    bool is_comparing; /* nothing is written */
    bool is_checksum, is_delete, is_git;
    char **exclude; /* ends with NULL */
    struct rdma_choice rdma;
};

/* The RDMA ports that lead to a neighbour. */
struct sync_rails {
    char name[128]; /* the neighbour's */
    char ports[RDMA_RAILS][PORT_NAME_TEXT];
    int count; /* 0: none should be used */
};

/* A place in a chain. */
struct sync_place {
    uint32_t round;
    bool is_fed;                /* by mlaunch, not by another host */
    int previous;               /* host, unless is_fed */
    int next;                   /* host, or -1 */
    char address[128];          /* the next host's */
    struct sync_rails from, to; /* the previous host and the next one */
};

/* ML_ERR_REFUSED: malformed; ML_ERR_MEMORY. What it holds lasts as long as the program. */
int sync_order_parse(struct sync_order *out, const char *text, size_t size, struct fault *why);
int sync_order_parse_place(struct sync_place *out, const char *text, size_t size,
                           struct fault *why);

#endif
