/* SPDX-License-Identifier: MIT */
/* arrival.h: reads a message from a context, and checks it: a program's memory may be broken. */
#ifndef RDMA_STANDIN_FABRIC_ARRIVAL_H
#define RDMA_STANDIN_FABRIC_ARRIVAL_H

#include "rdma/standin/fabric_message.h"

#include <stddef.h>

struct arrival {
    union {
        uint32_t kind;
        struct fabric_hello hello;
        struct fabric_segment segment;
        struct fabric_free free;
    } message;
    size_t size;    /* the message's, also if it is longer than any that there is */
    int descriptor; /* that came with it; -1: none, or more than one */
};

enum arrival_state { ARRIVAL_NONE, ARRIVAL_END, ARRIVAL_READ };

/* ARRIVAL_READ: the caller takes the descriptor, or calls arrival_close(). */
enum arrival_state arrival_read(struct arrival *a, int fd);
void arrival_close(struct arrival *a);

/* What is wrong with the first message of a context, after "a caller"; NULL: nothing is. */
const char *arrival_hello_error(const struct arrival *a);

/* The same for any later message, after "context N". `number` is the context's, and `ports` how
 * many ports its device has. */
const char *arrival_error(const struct arrival *a, uint32_t number, int ports);

#endif
