/* SPDX-License-Identifier: MIT */
/*
 * probe_child.h: each device is examined by a child process of its own, with a deadline, so that a
 * driver that hangs does not hang mlaunch-probe. A child answers with one line of JSON at a time.
 */
#ifndef RDMA_PROBE_PROBE_CHILD_H
#define RDMA_PROBE_PROBE_CHILD_H

#include "rdma/verbs/port.h"

#include <jansson.h>
#include <sys/types.h>

struct probe_child {
    char name[PORT_DEVICE];
    pid_t pid;
    int fd;     /* a socket; -1: the child has closed its end */
    char *text; /* what has come from it and was not yet read, owned */
    size_t size;
};

/* Runs in the child, which ends when it returns. `fd` is the socket to the parent. */
typedef void probe_child_fn(const char *name, int fd, const void *arg);
/* For c->name. If no child can be made, c->fd is -1, and its answer will be an error. */
void probe_child_start(struct probe_child *c, probe_child_fn *run, const void *arg);

/* Waits until each child has sent a line or ended, at most deadline_ms. */
void probe_children_gather(struct probe_child *children, int count, int deadline_ms);

/* The line, as an object with "name"; an object with "error" if there is none or it is late. The
 * caller's. Afterwards the next line may be gathered. */
json_t *probe_child_answer(struct probe_child *c, int deadline_ms);

/* Kills the child and frees what it has sent. */
void probe_child_end(struct probe_child *c);

/* In the child: sends a line. */
void probe_child_send(int fd, const json_t *line);

#endif
