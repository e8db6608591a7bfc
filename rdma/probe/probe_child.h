/* SPDX-License-Identifier: MIT */
/*
 * probe_child.h: each device is looked at by a child of its own with a deadline, so that one whose
 * driver hangs hangs nobody. A child answers with one line of JSON at a time.
 */
#ifndef RDMA_PROBE_PROBE_CHILD_H
#define RDMA_PROBE_PROBE_CHILD_H

#include "rdma/verbs/port.h"

#include <jansson.h>
#include <sys/types.h>

struct probe_child {
    char name[PORT_DEVICE];
    pid_t pid;
    int fd; /* both ways; -1: it has said all */
    char *text;
    size_t size;
};

/* In the child; `fd`: to be told, and to answer. Then the child ends. */
typedef void probe_child_fn(const char *name, int fd, const void *arg);
void probe_child_start(struct probe_child *c, probe_child_fn *run, const void *arg);

/* Until each has said a line or ended, or the deadline. */
void probe_children_gather(struct probe_child *children, int count, int deadline_ms);

/* The line, as an object with "name"; an object with "error" if there is none or it is late. The
 * next line may then be gathered. */
json_t *probe_child_answer(struct probe_child *c, int deadline_ms);

void probe_child_end(struct probe_child *c);

/* For the child's side. */
void probe_child_say(int fd, const json_t *line);

#endif
