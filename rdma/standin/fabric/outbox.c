/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

struct outbox_message {
    STAILQ_ENTRY(outbox_message) entry;
    int descriptor; /* owned; -1: none */
    size_t size;
    unsigned char bytes[];
};

struct outbox {
    int fd;
    bool is_broken;
    struct event *on_room;
    STAILQ_HEAD(outbox_messages, outbox_message) messages;
    size_t size; /* what they take in memory */
};

static bool message_send(int fd, const void *message, size_t size, int descriptor)
{
    struct iovec part = {(void *)message, size};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    if (descriptor >= 0) {
        struct cmsghdr *head;

        m.msg_control = control.bytes;
        m.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&m);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
    }
    do
        n = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0;
}

static void message_free(struct outbox_message *m)
{
    if (m->descriptor >= 0)
        close(m->descriptor);
    free(m);
}

static void outbox_empty(struct outbox *b)
{
    struct outbox_message *m;

    while ((m = STAILQ_FIRST(&b->messages))) {
        STAILQ_REMOVE_HEAD(&b->messages, entry);
        message_free(m);
    }
    b->size = 0;
}

static void outbox_break(struct outbox *b)
{
    b->is_broken = true;
    event_del(b->on_room);
    outbox_empty(b);
    shutdown(b->fd, SHUT_RDWR);
}

static bool is_full(int err)
{
    /* ETOOMANYREFS: too many descriptors are in sockets that nobody has read from yet. */
    return err == EAGAIN || err == ENOBUFS || err == ENOMEM || err == ETOOMANYREFS;
}

static void on_room(evutil_socket_t fd, short what, void *arg)
{
    struct outbox *b = arg;
    struct outbox_message *m;

    (void)what;
    while ((m = STAILQ_FIRST(&b->messages))) {
        if (!message_send(fd, m->bytes, m->size, m->descriptor)) {
            if (!is_full(errno))
                outbox_break(b);
            return;
        }
        STAILQ_REMOVE_HEAD(&b->messages, entry);
        b->size -= sizeof(*m) + m->size;
        message_free(m);
    }
    event_del(b->on_room);
}

static bool message_keep(struct outbox *b, const void *message, size_t size, int descriptor)
{
    struct outbox_message *m = NULL;

    if (b->size + sizeof(*m) + size <= OUTBOX_MOST)
        m = malloc(sizeof(*m) + size);
    if (!m)
        return false;
    m->size = size;
    memcpy(m->bytes, message, size);
    m->descriptor = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if ((descriptor >= 0 && m->descriptor < 0) ||
        (STAILQ_EMPTY(&b->messages) && event_add(b->on_room, NULL))) {
        message_free(m);
        return false;
    }
    STAILQ_INSERT_TAIL(&b->messages, m, entry);
    b->size += sizeof(*m) + size;
    return true;
}

void outbox_send(struct outbox *b, const void *message, size_t size, int descriptor)
{
    if (b->is_broken)
        return;
    if (STAILQ_EMPTY(&b->messages)) {
        if (message_send(b->fd, message, size, descriptor))
            return;
        if (!is_full(errno)) {
            outbox_break(b);
            return;
        }
    }
    if (!message_keep(b, message, size, descriptor))
        outbox_break(b);
}

bool outbox_has_room(const struct outbox *b)
{
    return !b->is_broken && b->size < OUTBOX_SEGMENTS;
}

struct outbox *outbox_open(struct event_base *base, int fd)
{
    struct outbox *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    b->fd = fd;
    STAILQ_INIT(&b->messages);
    b->on_room = event_new(base, fd, EV_WRITE | EV_PERSIST, on_room, b);
    if (b->on_room)
        return b;
    free(b);
    return NULL;
}

void outbox_close(struct outbox *b)
{
    if (!b)
        return;
    event_free(b->on_room);
    outbox_empty(b);
    free(b);
}
