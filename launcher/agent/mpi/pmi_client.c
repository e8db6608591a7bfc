/* SPDX-License-Identifier: MIT */
/* pmi_client.c: one rank's socket: lines in, one answer for each out. */
#include "launcher/agent/mpi/pmi_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READS_MOST = 512, /* for a rank's last words: it may have left a process that still writes */
    ENDS_WITHIN_S = 1,
};

/* Hands over all whole lines. `line` keeps what follows the last one. */
static void lines_take(struct pmi_client *c)
{
    char *at = c->line, *end = c->line + c->filled, *newline;

    while (c->state != PMI_DEAF && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        *newline = '\0';
        if (memchr(at, '\0', (size_t)(newline - at)))
            pmi_client_fail(c, "sent a PMI command with a zero byte");
        else
            c->pmi->on_line(c, at);
        at = newline + 1;
    }
    c->filled = (size_t)(end - at);
    memmove(c->line, at, c->filled);
    if (c->filled == sizeof(c->line))
        pmi_client_fail(c, "sent a PMI command of more than %d bytes", PMI_LINE);
}

/* Reads once. False: there is nothing to be read (any more). */
static bool client_read(struct pmi_client *c, bool *is_closed)
{
    ssize_t n = read(c->fd, c->line + c->filled, sizeof(c->line) - c->filled);

    *is_closed = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    c->filled += (size_t)n;
    lines_take(c);
    return c->state != PMI_DEAF;
}

/* The rank has closed its end. If its process has ended, that is known within a moment; if it
 * lives, it has broken the protocol. */
static void on_closed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    pmi_client_fail(arg, "closed its PMI socket (PMI_FD) without calling MPI_Finalize");
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval limit = {.tv_sec = ENDS_WITHIN_S};
    struct pmi_client *c = arg;
    bool is_closed;

    (void)fd, (void)what;
    client_read(c, &is_closed);
    if (!is_closed)
        return;
    event_del(c->event);
    if (c->state == PMI_IN_USE)
        event_add(c->closed, &limit);
}

int pmi_client_open(struct pmi_client *c, int *fd, struct fault *why)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make its PMI socket");
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    c->fd = pair[0];
    c->event = event_new(c->pmi->base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    c->closed = evtimer_new(c->pmi->base, on_closed, c);
    if (!c->event || !c->closed || event_add(c->event, NULL)) {
        close(pair[1]);
        pmi_client_close(c);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for its PMI socket");
    }
    *fd = pair[1];
    return 0;
}

void pmi_client_close(struct pmi_client *c)
{
    if (c->event)
        event_free(c->event);
    if (c->closed)
        event_free(c->closed);
    if (c->fd >= 0)
        close(c->fd);
    c->event = c->closed = NULL;
    c->fd = -1;
}

void pmi_client_read_rest(struct pmi_client *c)
{
    bool is_closed;

    for (int i = 0; i < READS_MOST && c->fd >= 0 && c->state != PMI_DEAF; i++) {
        if (!client_read(c, &is_closed))
            return;
    }
}

void pmi_client_send(struct pmi_client *c, const char *format, ...)
{
    char line[PMI_LINE + 1];
    va_list args;
    int size;

    if (c->fd < 0 || c->state == PMI_DEAF)
        return;
    va_start(args, format);
    size = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    if (size < 0 || size >= PMI_LINE) {
        pmi_client_fail(c, "asked for more than a PMI answer can hold");
        return;
    }
    line[size++] = '\n';
    /* A rank has one command under way, so its socket has room for the answer. A rank that is gone
     * is noticed when the socket is read. */
    if (send(c->fd, line, (size_t)size, MSG_NOSIGNAL) != size &&
        (errno == EAGAIN || errno == EWOULDBLOCK))
        pmi_client_fail(c, "does not read the answers to its PMI commands");
}

void pmi_client_fail(struct pmi_client *c, const char *format, ...)
{
    char text[sizeof(((struct fault *)NULL)->text)];
    va_list args;

    if (c->state == PMI_DEAF)
        return;
    c->state = PMI_DEAF;
    if (c->event)
        event_del(c->event);
    if (c->closed)
        event_del(c->closed);
    if (c->pmi->has_failed)
        return;
    c->pmi->has_failed = true;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    c->pmi->events.on_fault(c->index, text, c->pmi->events.arg);
}
