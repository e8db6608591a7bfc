/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/arrival.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 4, MTU_LEAST = 256 };

/* Keeps the descriptor if it is the only one. */
static void descriptors_take(struct arrival *a, struct msghdr *m)
{
    int fds[DESCRIPTORS], count = 0;

    for (struct cmsghdr *head = CMSG_FIRSTHDR(m); head; head = CMSG_NXTHDR(m, head)) {
        size_t size = head->cmsg_len - CMSG_LEN(0);

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
            size > sizeof(fds) - (size_t)count * sizeof(int))
            continue;
        memcpy(fds + count, CMSG_DATA(head), size);
        count += (int)(size / sizeof(int));
    }
    a->descriptor = count == 1 && !(m->msg_flags & MSG_CTRUNC) ? fds[0] : -1;
    for (int i = 0; i < count; i++)
        if (a->descriptor < 0)
            close(fds[i]);
}

enum arrival_state arrival_read(struct arrival *a, int fd)
{
    union {
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {&a->message, sizeof(a->message)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    ssize_t n;

    do
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM))
        return ARRIVAL_NONE;
    if (n <= 0)
        return ARRIVAL_END;
    a->size = (size_t)n;
    descriptors_take(a, &m);
    return ARRIVAL_READ;
}

void arrival_close(struct arrival *a)
{
    if (a->descriptor >= 0)
        close(a->descriptor);
    a->descriptor = -1;
}

const char *arrival_hello_error(const struct arrival *a)
{
    struct stat of;
    int seals;

    if (a->size != sizeof(a->message.hello) || a->message.kind != FABRIC_HELLO)
        return "does not begin with FABRIC_HELLO";
    if (a->message.hello.version != FABRIC_VERSION)
        return "is of a library of another build";
    if (a->descriptor < 0)
        return "sends no arena, or more than one";
    /* Only a memfd has seals. */
    seals = fcntl(a->descriptor, F_GET_SEALS);
    if (seals < 0 || fstat(a->descriptor, &of))
        return "sends an arena that is no memfd";
    if (of.st_size != FABRIC_ARENA_SIZE)
        return "sends an arena of another size";
    return NULL;
}

static const char *segment_error(const struct fabric_segment *s, uint32_t number, int ports)
{
    if (s->type < FABRIC_SEND || s->type > FABRIC_ATOMIC_RESPONSE)
        return "sends a segment of an unknown type";
    if (s->qp_type != IBV_QPT_RC && s->qp_type != IBV_QPT_UC && s->qp_type != IBV_QPT_UD)
        return "sends a segment of an unknown type of queue pairs";
    if (s->port < 1 || s->port > ports)
        return "sends from a port that its device does not have";
    if (s->sgid_index >= FABRIC_GIDS_MOST)
        return "sends from a GID beyond its port's table";
    if (s->slot > FABRIC_NO_SLOT)
        return "sends a slot beyond its arena";
    if (s->length > (s->slot == FABRIC_NO_SLOT ? 0 : FABRIC_SLOT_SIZE))
        return "sends more bytes than its slot has";
    if (s->packets < 1 || s->packets > FABRIC_SLOT_SIZE / MTU_LEAST)
        return "sends a segment of no packets, or of more than its slot has bytes for";
    if (fabric_context_of(s->from_qp) != number)
        return "sends from another context's queue pair";
    if (s->to_qp >> 24)
        return "sends to a queue pair's number of more than 24 bits";
    return NULL;
}

const char *arrival_error(const struct arrival *a, uint32_t number, int ports)
{
    if (a->size == sizeof(a->message.segment) && a->message.kind == FABRIC_SEGMENT)
        return segment_error(&a->message.segment, number, ports);
    if (a->size != sizeof(a->message.free) || a->message.kind != FABRIC_FREE)
        return "sends a message that the protocol does not have";
    if (a->message.free.context < 1 || a->message.free.context > FABRIC_CONTEXTS_MOST)
        return "frees a slot of a context that cannot be";
    if (a->message.free.slot >= FABRIC_SLOTS)
        return "frees a slot beyond an arena";
    return NULL;
}
