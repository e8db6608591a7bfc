/* SPDX-License-Identifier: MIT */
/*
 * probe_child.h: each device is examined by a child process of its own, with a deadline, so that a
 * driver that hangs does not hang mlaunch-probe. A child answers with one line of JSON at a time.
 */
#ifndef RDMA_PROBE_PROBE_CHILD_H
#define RDMA_PROBE_PROBE_CHILD_H

#include "rdma/verbs/port.h"

#include <jansson.h>
#include <stdbool.h>
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

/* Waits until each child has sent a line or ended, at most deadline_ms, and prints the lines as
 * {"devices": […]}, by json_dumpf() with `flags`: each an object with "name", and with "error" if
 * there is none or it is late. Afterwards the next lines may be gathered. True: there is an
 * "error". */
bool probe_children_print(struct probe_child *children, int count, int deadline_ms, size_t flags);

/* Kills the child and frees what it has sent. */
void probe_child_end(struct probe_child *c);

/* In the child: sends a line. */
void probe_child_send(int fd, const json_t *line);

#endif
