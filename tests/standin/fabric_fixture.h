/* SPDX-License-Identifier: MIT */
/*
 * fabric_fixture.h: a network of the stand-in for a test: the program standin-fabric of the build,
 * and contexts that the test has in it. A failed expectation fails the test. Waiting only ends
 * hangs: what is not to come is looked for by what comes next.
 *
 *     a/r0 ── wire ── b/r0       a/r1:1, a/r1:2, c/r0 ── switch       a/i0 ── wire ── b/i0
 */
#ifndef TESTS_STANDIN_FABRIC_FIXTURE_H
#define TESTS_STANDIN_FABRIC_FIXTURE_H

#include "rdma/standin/fabric_message.h"

#include <stddef.h>
#include <sys/types.h>

enum { PATIENCE_MS = 60000 };

struct context {
    int fd, arena;
    uint32_t number;
    char *bytes; /* the arena's */
    struct fabric_device device;
};

union message {
    uint32_t kind;
    struct fabric_device device;
    struct fabric_segment segment;
    struct fabric_free free;
    struct fabric_arena arena;
    struct fabric_gone gone;
    struct fabric_port_news news;
};

extern union message got; /* the last one that came */

void network_begin(int seed);
/* Ends it by the signal, or by its input if that is 0, with all contexts that are open. -1: it has
 * failed, or has left files. */
int network_end(int signal);

/* Says the command to the control, whose answer begins with `answer`. */
void tell(const char *command, const char *answer);
int control_descriptor(void);

/* What the first line of a host's file has, "" if the file is not there. */
void expect_file(const char *name, const char *text);
/* A line on standard error has both. */
void expect_said(const char *who, const char *what);

int dial(const char *name, int type);
void hello(int fd, uint32_t version, const int *fds, size_t count);

/* `name` is that of the socket. The caller may close it; else network_end() does. */
struct context *context_open(const char *name);
void context_close(struct context *x);
/* One of a/r0 and one of b/r0, each of which has the other's arena, and the first its own. */
void contexts_meet(struct context **a, struct context **b);
/* The first segment between the two, and before that the arena. */
void greet(const struct context *from, const struct context *to);

/* A request of 100 bytes in slot 1, from port 1 to the first GID of the other's. */
struct fabric_segment segment_of(const struct context *from, const struct context *to);
void put(const struct context *x, const void *message, size_t size);
void put_segment(const struct context *x, const struct fabric_segment *s);
void put_free(const struct context *x, uint32_t context, uint32_t slot);

/* The size of the next message, which is in `got` then; 0: the connection is closed. */
ssize_t receive(int fd);
/* The next message is of that kind. */
void expect(const struct context *x, uint32_t kind);
void expect_event(const struct context *x, enum ibv_event_type event, enum ibv_port_state state);
/* Sends the segment, and it arrives, or the next message is that it is lost. */
void expect_passed(const struct context *from, const struct context *to,
                   const struct fabric_segment *s);
void expect_lost(const struct context *x, const struct fabric_segment *s);
/* All that the context has sent before has been taken. */
void flush(const struct context *x);

#endif
