/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    REQUEST_SLOTS = FABRIC_SLOTS * 3 / 4, /* for the requests of all queue pairs */
    PAIR_SLOTS = FABRIC_SLOTS / 8,        /* for the requests of one queue pair */
};

/* --- the arena -------------------------------------------------------------------------------- */

static int arena_open(struct standin_arena *a)
{
    void *bytes;
    int err = 0;

    a->fd = memfd_create("standin-arena", MFD_CLOEXEC);
    if (a->fd < 0)
        return errno;
    if (ftruncate(a->fd, FABRIC_ARENA_SIZE))
        return errno;
    bytes = mmap(NULL, FABRIC_ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    if (bytes == MAP_FAILED)
        err = errno;
    else
        a->bytes = bytes;
    return err;
}

static void arena_close(struct standin_arena *a)
{
    if (a->bytes)
        munmap(a->bytes, FABRIC_ARENA_SIZE);
    if (a->fd >= 0)
        close(a->fd);
    a->bytes = NULL;
    a->fd = -1;
}

/* How many slots the requests of queue pair `qp` have; of all if it is 0. */
static int arena_requests(const struct standin_arena *a, uint32_t qp)
{
    int count = 0;

    for (int i = 0; i < FABRIC_SLOTS; i++)
        count += a->slots[i].is_used && a->slots[i].is_request && (!qp || a->slots[i].qp == qp);
    return count;
}

uint32_t standin_slot_take(struct standin_context *c, const struct standin_slot *as)
{
    struct standin_arena *a = &c->arena;
    uint32_t slot = 0;

    if (as->is_request &&
        (arena_requests(a, 0) >= REQUEST_SLOTS || arena_requests(a, as->qp) >= PAIR_SLOTS)) {
        a->is_wanted = true;
        return FABRIC_NO_SLOT;
    }
    while (slot < FABRIC_SLOTS && a->slots[slot].is_used)
        slot++;
    if (slot == FABRIC_SLOTS) {
        a->is_wanted = true;
        return FABRIC_NO_SLOT;
    }
    a->slots[slot] = *as;
    a->slots[slot].is_used = true;
    return slot;
}

unsigned char *standin_slot_bytes(const struct standin_context *c, uint32_t slot)
{
    return c->arena.bytes + (size_t)slot * FABRIC_SLOT_SIZE;
}

void standin_slot_free(struct standin_context *c, uint32_t slot)
{
    if (slot < FABRIC_SLOTS)
        c->arena.slots[slot].is_used = false;
}

void standin_slot_lost(struct standin_context *c, const struct fabric_segment *s)
{
    const struct standin_slot *slot = s->slot < FABRIC_SLOTS ? &c->arena.slots[s->slot] : NULL;

    if (slot && slot->qp == s->from_qp && slot->psn == s->psn &&
        slot->is_request != fabric_is_response(s))
        standin_slot_free(c, s->slot);
}

/* --- the connection --------------------------------------------------------------------------- */

static int socket_connect(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd, err;

    if (strlen(path) >= sizeof(at.sun_path))
        return -ENAMETOOLONG;
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    err = errno;
    close(fd);
    if (err == ECONNREFUSED || err == ENOENT) {
        fprintf(stderr, "libibverbs (stand-in): nobody listens at %s: %s\n", path,
                err == ENOENT ? "this library serves tests only, and no real device"
                              : "the fabric of this test network has ended");
        err = ENODEV;
    }
    return -err;
}

static int hello_send(const struct standin_context *c)
{
    struct fabric_hello hello = {FABRIC_HELLO, FABRIC_VERSION};
    struct iovec part = {&hello, sizeof(hello)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &c->arena.fd, sizeof(int));
    return sendmsg(c->fabric, &m, MSG_NOSIGNAL) < 0 ? errno : 0;
}

static int device_receive(struct standin_context *c)
{
    ssize_t n;

    do
        n = recv(c->fabric, &c->device, sizeof(c->device), 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno;
    return n == sizeof(c->device) && c->device.kind == FABRIC_DEVICE ? 0 : EPROTO;
}

int standin_link_open(struct standin_context *c, const char *path)
{
    int err;

    c->last = &c->first;
    c->arena.fd = -1;
    c->fabric = socket_connect(path);
    if (c->fabric < 0)
        return -c->fabric;
    err = arena_open(&c->arena);
    if (!err)
        err = hello_send(c);
    if (!err)
        err = device_receive(c);
    if (!err && fcntl(c->fabric, F_SETFL, O_NONBLOCK))
        err = errno;
    return err;
}

void standin_link_close(struct standin_context *c)
{
    while (c->first) {
        struct standin_message *m = c->first;

        c->first = m->next;
        free(m);
    }
    if (c->fabric >= 0)
        close(c->fabric);
    arena_close(&c->arena);
    for (int i = 0; i <= FABRIC_CONTEXTS_MOST; i++)
        if (c->peers[i])
            munmap((void *)c->peers[i], FABRIC_ARENA_SIZE);
}

/* --- messages --------------------------------------------------------------------------------- */

/* The thread finds that the connection has ended. Queue pairs do not fail here, since one of them
 * may be in the middle of what it sends. */
static void connection_end(const struct standin_context *c)
{
    shutdown(c->fabric, SHUT_RDWR);
}

static void message_keep(struct standin_context *c, const void *message, size_t size)
{
    struct standin_message *m = malloc(sizeof(*m));

    if (!m) {
        connection_end(c);
        return;
    }
    m->next = NULL;
    m->size = size;
    memcpy(&m->segment, message, size);
    *c->last = m;
    c->last = &m->next;
    standin_wake(c); /* so that it waits for room */
}

static void message_send(struct standin_context *c, const void *message, size_t size)
{
    if (c->is_broken)
        return;
    if (c->first || send(c->fabric, message, size, MSG_NOSIGNAL) < 0) {
        if (!c->first && errno != EAGAIN && errno != ENOBUFS)
            connection_end(c);
        else
            message_keep(c, message, size);
    }
}

void standin_link_send(struct standin_context *c, const struct fabric_segment *s)
{
    message_send(c, s, sizeof(*s));
}

void standin_link_free(struct standin_context *c, uint32_t context, uint32_t slot)
{
    struct fabric_free message = {FABRIC_FREE, context, slot};

    if (slot != FABRIC_NO_SLOT)
        message_send(c, &message, sizeof(message));
}

bool standin_link_flush(struct standin_context *c)
{
    while (c->first) {
        struct standin_message *m = c->first;

        if (send(c->fabric, &m->segment, m->size, MSG_NOSIGNAL) < 0) {
            if (errno != EAGAIN && errno != ENOBUFS)
                standin_context_break(c, false);
            return false;
        }
        c->first = m->next;
        if (!c->first)
            c->last = &c->first;
        free(m);
    }
    return true;
}

/* The arena of another context, whose number may have been that of one that is over. */
static void peer_take(struct standin_context *c, uint32_t context, int fd)
{
    void *bytes;

    if (context == 0 || context > FABRIC_CONTEXTS_MOST)
        return;
    if (c->peers[context])
        munmap((void *)c->peers[context], FABRIC_ARENA_SIZE);
    bytes = mmap(NULL, FABRIC_ARENA_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    c->peers[context] = bytes == MAP_FAILED ? NULL : bytes;
}

int standin_link_receive(struct standin_context *c, union standin_arrival *a)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {a, sizeof(*a)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head;
    ssize_t n;
    int fd;

    do
        n = recvmsg(c->fabric, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < (ssize_t)sizeof(a->kind))
        return -1;
    head = CMSG_FIRSTHDR(&m);
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(&fd, CMSG_DATA(head), sizeof(fd));
        if (a->kind == FABRIC_ARENA)
            peer_take(c, a->arena.context, fd);
        close(fd);
    }
    return 1;
}

const unsigned char *standin_link_bytes(const struct standin_context *c,
                                        const struct fabric_segment *s)
{
    if (s->slot >= FABRIC_SLOTS || s->length > FABRIC_SLOT_SIZE ||
        s->from_context > FABRIC_CONTEXTS_MOST || !c->peers[s->from_context])
        return NULL;
    return c->peers[s->from_context] + (size_t)s->slot * FABRIC_SLOT_SIZE;
}
