/* SPDX-License-Identifier: MIT */
/*
 * tcp_link.c: messages over a TCP connection. Header and payload are sent and received by one
 * system call, straight from and to the caller's memory. Several short messages also go by one. The
 * sizes of the socket's buffers are left to the kernel, which lets them grow to megabytes; setting
 * them would limit that to net.core.wmem_max, a fraction. With --secure the same bytes go through
 * tcp_seal.c. Most links wait for their first message before they have a connection (tcp_mesh.h).
 */
#include "runtime/tcp/tcp_link.h"

#include "common/net/address.h"
#include "common/net/tcp_seal.h"
#include "runtime/gpu/gpu_buffer.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/group/group.h"
#include "runtime/group/matching.h"
#include "runtime/group/message.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/process/fork_guard.h"
#include "runtime/tcp/tcp_mesh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    BOUNCE = 256 * 1024,       /* bytes: what is reduced comes through here, in the L2 cache */
    PART = 512 * 1024,         /* bytes per system call: acknowledgements wait for its lock */
    TOGETHER = 32,             /* messages that are sent by one system call, */
    TOGETHER_SIZE = 64 * 1024, /* and fewer bytes than this, but for the last one */
    AHEAD = 8 * 1024,          /* bytes that are read ahead, behind a message that is shorter */
};

struct tcp_link {
    struct link base;
    int fd;                /* -1: not connected yet */
    struct tcp_mesh *mesh; /* makes the connection; NULL: it was there from the beginning */
    struct tcp_seal *seal; /* --secure; else NULL */
    struct message out_header, in_header;
    size_t out_header_moved, in_header_moved; /* bytes */
    unsigned char *bounce;
    size_t bounce_have;   /* bytes of an element whose rest has not come yet */
    unsigned char *ahead; /* what was read behind the message that was awaited (l->reads_ahead) */
    size_t ahead_at, ahead_have;
    bool is_drained;      /* the last look took all that was there */
    struct fault *failed; /* what the system said, if it was not that the peer has closed its end */
};

static struct tcp_link *tcp_link_of(struct link *l)
{
    return (struct tcp_link *)l;
}

/* Where the payload goes on. An empty message's may be NULL, to which C adds nothing. */
static void *tcp_link_place(const struct message_op *t)
{
    return t->moved ? (char *)t->buf + t->moved : t->buf;
}

/* Fills `part` with what is next of header and payload, which may be empty. Returns the number of
 * parts. */
static int tcp_link_parts(struct iovec part[2], struct message *header, size_t header_moved,
                          void *payload, size_t size)
{
    int n = 0;

    if (header_moved < sizeof(*header))
        part[n++] = (struct iovec){(char *)header + header_moved, sizeof(*header) - header_moved};
    if (size)
        part[n++] = (struct iovec){payload, size < PART ? size : PART};
    return n;
}

/* Where what may be sent of a message ends: a GPU's bytes are copied in pieces. */
static size_t tcp_link_end(const struct message_op *t)
{
    return t->gpu ? t->gpu->ready : t->size;
}

static void *tcp_link_source(const struct message_op *t)
{
    return t->gpu ? gpu_buffer_ready(t->gpu, t->moved) : tcp_link_place(t);
}

/* Adds whose call has failed. */
static int tcp_link_gpu_failed(const struct tcp_link *s, const char *call, struct fault *why)
{
    const struct group *g = s->base.group;
    char who[GROUP_MEMBER_TEXT];

    return fault_wrap(why, "%s: %s", group_describe(g, g->rank, who), call);
}

static void tcp_link_tell(const struct tcp_link *s)
{
    const struct group *g = s->base.group;
    struct fault why;

    fault_set(&why, ML_ERR_ARGUMENT, "TCP reaches host memory only");
    gpu_way_tell(g->members[g->rank], g->members[s->base.peer], GPU_WAY_PIECES, &why);
}

/* Makes sure that there is something to send of a message whose bytes are on a GPU. */
static int tcp_link_fetch(const struct tcp_link *s, struct message_op *t, struct fault *why)
{
    if (t->header_moved && t->moved < t->gpu->ready)
        return 0;
    if (!t->header_moved)
        tcp_link_tell(s);
    return gpu_buffer_read_piece(t->gpu, t->moved, why) ? tcp_link_gpu_failed(s, "send", why) : 0;
}

/* Keeps the cause until the coordinator has had time to say that the peer has ended. */
static void tcp_link_keep_cause(struct tcp_link *s, int err)
{
    const struct group *g = s->base.group;
    char who[GROUP_MEMBER_TEXT];

    if (s->failed || err == ECONNRESET || err == EPIPE)
        return;
    s->failed = malloc(sizeof(*s->failed));
    if (s->failed)
        fault_os(s->failed, address_is_unreached(err) ? ML_ERR_LINK : ML_ERR_PEER, err,
                 "its connection to %s", group_describe(g, s->base.peer, who));
}

/* Returns 0: try again later. If there will be no later, marks the link as ended. */
static int tcp_link_failed(struct tcp_link *s)
{
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        tcp_link_keep_cause(s, errno);
        s->base.ended = true;
    }
    return 0;
}

/* Fills `part` with the first message and short ones behind it, whose headers are put into
 * `headers`. Returns the number of parts. */
static int tcp_link_gather(struct tcp_link *s, struct message headers[TOGETHER],
                           struct iovec part[2 * TOGETHER])
{
    const struct message_op *t = s->base.sends;
    size_t size = tcp_link_end(t) - t->moved;
    int n = tcp_link_parts(part, &s->out_header, s->out_header_moved, tcp_link_source(t), size);

    for (int i = 1; i < TOGETHER && tcp_link_end(t) == t->size && t->next && !t->next->gpu &&
                    size < TOGETHER_SIZE;
         i++) {
        t = t->next;
        message_fill(&headers[i], &s->base.group->call, t);
        n += tcp_link_parts(part + n, &headers[i], 0, t->buf, t->size);
        size += sizeof(headers[i]) + t->size;
    }
    return n;
}

/* `n` bytes of the messages whose headers are in `headers` have been sent. */
static void tcp_link_sent(struct tcp_link *s, const struct message headers[TOGETHER], size_t n)
{
    for (int i = 1;; i++) {
        struct message_op *t = s->base.sends;
        size_t header = sizeof(s->out_header) - s->out_header_moved, size = t->size - t->moved;

        header = header < n ? header : n;
        s->out_header_moved += header;
        n -= header;
        size = size < n ? size : n;
        t->moved += size;
        n -= size;
        if (s->out_header_moved == sizeof(s->out_header) && t->moved == t->size)
            link_pop_send(&s->base);
        if (!n)
            return;
        s->out_header = headers[i];
        s->out_header_moved = 0;
        s->base.sends->header_moved = true;
    }
}

/* > 0: something was sent, and the socket may take more; ML_ERR_*. */
static int tcp_link_send(struct tcp_link *s, struct fault *why)
{
    struct message_op *t = s->base.sends;
    struct message headers[TOGETHER];
    struct iovec part[2 * TOGETHER];
    struct msghdr m = {.msg_iov = part};
    ssize_t sent;

    if (__builtin_expect(t->gpu != NULL, 0) && tcp_link_fetch(s, t, why))
        return why->code;
    if (!t->header_moved) {
        message_fill(&s->out_header, &s->base.group->call, t);
        s->out_header_moved = 0;
        t->header_moved = true;
    }
    if (s->seal) {
        m.msg_iovlen = (size_t)tcp_link_parts(part, &s->out_header, s->out_header_moved,
                                              tcp_link_source(t), tcp_link_end(t) - t->moved);
        sent = tcp_seal_send(s->seal, s->fd, part, (int)m.msg_iovlen);
    } else {
        m.msg_iovlen = (size_t)tcp_link_gather(s, headers, part);
        sent = sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (sent < 0)
        return tcp_link_failed(s);
    tcp_link_sent(s, headers, (size_t)sent);
    return 1;
}

/* Reduces the whole elements among the `size` bytes at the start of the bounce buffer; keeps the
 * rest. */
static void tcp_link_reduce(struct tcp_link *s, struct message_op *t, size_t size)
{
    const struct call *c = &s->base.group->call;
    size_t whole = c->combiner ? size : size - size % reduce_type_size(c->type);

    if (whole) {
        link_take(&s->base, t, s->bounce, whole);
        memmove(s->bounce, s->bounce + whole, size - whole);
    }
    s->bounce_have = size - whole;
}

/* Where the next bytes of the payload go, and how many at most. */
static void *tcp_link_target(struct tcp_link *s, const struct message_op *t, size_t *size)
{
    *size = t->size - t->moved;
    if (t->what != MESSAGE_OP_REDUCE)
        return tcp_link_place(t);
    *size -= s->bounce_have;
    if (*size > BOUNCE - s->bounce_have)
        *size = BOUNCE - s->bounce_have;
    return s->bounce + s->bounce_have;
}

/* The same for a message that goes to a GPU, through host memory. Its payload is read behind its
 * header, so that it is known to be its. */
static int tcp_link_find_room(struct tcp_link *s, const struct message_op *t, void **target,
                              size_t *size, struct fault *why)
{
    size_t left = t->size - t->moved;

    *target = NULL;
    *size = 0;
    if (!t->header_moved)
        return 0;
    *target = gpu_buffer_room(t->gpu, t->moved, size, why);
    *size = *size < left ? *size : left;
    return *target ? 0 : tcp_link_gpu_failed(s, "recv", why);
}

/* `n` bytes have come for t, and are in that room. */
static int tcp_link_took(struct tcp_link *s, const struct message_op *t, size_t n,
                         struct fault *why)
{
    int rc = gpu_buffer_came(t->gpu, n, why);

    if (!rc && t->moved == t->size) {
        tcp_link_tell(s);
        rc = gpu_buffer_end(t->gpu, why);
    }
    return rc ? tcp_link_gpu_failed(s, "recv", why) : 0;
}

static int tcp_link_take(struct tcp_link *s, struct message_op *t, size_t n, struct fault *why);

/* The message whose header has come is not that of `t`, in whose place the next `n` bytes are: puts
 * them where they belong. More messages of that kind may be among them, but not the end of t's. */
static int tcp_link_divert(struct tcp_link *s, const struct message_op *t, size_t n,
                           struct fault *why)
{
    const void *from = t->what == MESSAGE_OP_REDUCE ? s->bounce : tcp_link_place(t);
    unsigned char *copy = malloc(n + 1); /* also where there is nothing to copy */
    size_t used = 0, size;
    int rc = 0;

    if (!copy)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (n)
        memcpy(copy, from, n);
    do {
        struct message_op *next = s->base.recvs;
        size_t header = sizeof(s->in_header) - s->in_header_moved, part = n - used;
        void *to;

        if (header) {
            part = part < header ? part : header;
            memcpy((char *)&s->in_header + s->in_header_moved, copy + used, part);
            used += part;
            rc = tcp_link_take(s, next, part, why);
            continue;
        }
        to = tcp_link_target(s, next, &size);
        if (next->gpu)
            rc = tcp_link_find_room(s, next, &to, &size, why);
        part = part < size ? part : size;
        if (part)
            memcpy(to, copy + used, part);
        used += part;
        rc = rc ? rc : tcp_link_take(s, next, part, why);
    } while (!rc && used < n);
    free(copy);
    return rc;
}

/* Handles `n` bytes that have arrived: first of the header, then of the payload. */
static int tcp_link_take(struct tcp_link *s, struct message_op *t, size_t n, struct fault *why)
{
    size_t header = sizeof(s->in_header) - s->in_header_moved;
    int rc;

    header = header < n ? header : n;
    s->in_header_moved += header;
    n -= header;
    if (s->in_header_moved < sizeof(s->in_header))
        return 0;
    if (!t->header_moved) {
        rc = matching_accept(&s->base, &s->in_header, why);
        if (rc <= 0)
            return rc;
        s->base.recvs->header_moved = true;
        if (s->base.recvs != t)
            return tcp_link_divert(s, t, n, why);
    }
    if (t->what == MESSAGE_OP_REDUCE)
        tcp_link_reduce(s, t, s->bounce_have + n);
    else
        t->moved += n;
    if (__builtin_expect(t->gpu != NULL, 0) && n && tcp_link_took(s, t, n, why))
        return why->code;
    if (t->moved == t->size) {
        s->in_header_moved = 0;
        link_pop_recv(&s->base);
    }
    return 0;
}

static int tcp_link_changed(const struct tcp_link *s, struct fault *why)
{
    const struct group *g = s->base.group;
    char from[GROUP_MEMBER_TEXT], to[GROUP_MEMBER_TEXT];

    return fault_set(why, ML_ERR_LINK,
                     "the data of %s was changed on its way to %s: something on the network "
                     "between them interferes",
                     group_describe(g, s->base.peer, from), group_describe(g, g->rank, to));
}

/* Where what follows a short message is put. NULL: it stays in the socket, as after a long one,
 * whose successor most often is long too and had better be received where it belongs. */
static unsigned char *tcp_link_ahead(struct tcp_link *s, size_t size)
{
    if (!s->base.reads_ahead || s->seal || size >= AHEAD)
        return NULL;
    if (!s->ahead)
        s->ahead = malloc(AHEAD);
    return s->ahead;
}

/* Copies what was read ahead, as recvmsg would. */
static ssize_t tcp_link_copy_ahead(struct tcp_link *s, const struct iovec *part, int n)
{
    size_t came = 0;

    for (int i = 0; i < n && s->ahead_have; i++) {
        size_t size = part[i].iov_len < s->ahead_have ? part[i].iov_len : s->ahead_have;

        memcpy(part[i].iov_base, s->ahead + s->ahead_at, size);
        s->ahead_at += size;
        s->ahead_have -= size;
        came += size;
    }
    return (ssize_t)came;
}

/* Receives into the `n` parts, which have room for one more. */
static ssize_t tcp_link_read(struct tcp_link *s, struct iovec *part, int n)
{
    struct msghdr m = {.msg_iov = part};
    size_t size = 0, ahead = 0;
    ssize_t came;

    if (s->ahead_have)
        return tcp_link_copy_ahead(s, part, n);
    if (s->seal)
        return tcp_seal_receive(s->seal, s->fd, part, n);
    for (int i = 0; i < n; i++)
        size += part[i].iov_len;
    if (tcp_link_ahead(s, size)) {
        part[n++] = (struct iovec){s->ahead, AHEAD};
        ahead = AHEAD;
    }
    m.msg_iovlen = (unsigned)n;
    came = recvmsg(s->fd, &m, MSG_DONTWAIT);
    if (came <= 0)
        return came;
    s->is_drained = (size_t)came < size + ahead;
    if ((size_t)came <= size)
        return came;
    s->ahead_at = 0;
    s->ahead_have = (size_t)came - size;
    return (ssize_t)size;
}

/* > 0: something came, and there may be more; ML_ERR_*. Only where the link reads ahead, a payload
 * is read past its expected size; elsewhere the next message stays in the socket. */
static int tcp_link_receive(struct tcp_link *s, struct fault *why)
{
    struct message_op *t = s->base.recvs;
    struct iovec part[3];
    size_t size;
    ssize_t came;
    void *target;
    int n;

    if (s->in_header_moved == sizeof(s->in_header) && !t->header_moved) { /* it was left unread */
        if (tcp_link_take(s, t, 0, why) < 0)
            return why->code;
        return s->base.recvs != NULL || s->in_header_moved < sizeof(s->in_header);
    }
    if (t->what == MESSAGE_OP_REDUCE && !s->bounce) {
        s->bounce = malloc(BOUNCE);
        if (!s->bounce)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    target = tcp_link_target(s, t, &size);
    if (__builtin_expect(t->gpu != NULL, 0) && tcp_link_find_room(s, t, &target, &size, why))
        return why->code;
    n = tcp_link_parts(part, &s->in_header, s->in_header_moved, target, size);
    came = tcp_link_read(s, part, n);
    if (came < 0 && s->seal && errno == EBADMSG)
        return tcp_link_changed(s, why);
    if (came < 0)
        return tcp_link_failed(s);
    if (came == 0) {
        s->base.ended = true;
        return 0;
    }
    return tcp_link_take(s, t, (size_t)came, why) < 0 ? why->code : 1;
}

/* Receives until nothing more is there. > 0: something came; ML_ERR_*. */
static int tcp_link_receive_all(struct tcp_link *s, struct fault *why)
{
    int moved = 0, rc = 1;

    s->is_drained = false;
    while (s->base.recvs && rc > 0 && (!s->is_drained || s->ahead_have)) {
        rc = tcp_link_receive(s, why);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return moved;
}

int tcp_link_connect(struct link *l, bool begins, struct fault *why)
{
    struct tcp_link *s = tcp_link_of(l);
    int rc;

    if (s->fd >= 0)
        return 1;
    rc = tcp_mesh_join(s->mesh, l->peer, begins && !l->gone, &s->fd, &s->seal, why);
    if (rc > 0) {
        l->is_connecting = false;
        fork_guard_add(s->fd);
    }
    return rc;
}

/* What could have been under way has come by now, if the peer is gone or can't be reached. */
static int tcp_link_bring_up(struct link *l, struct fault *why)
{
    int rc = tcp_link_connect(l, l->sends != NULL, why);

    if (rc == ML_ERR_SYSTEM) /* no descriptor, in a call that did not ask for one */
        rc = why->code = ML_ERR_LINK;
    if (rc == 0 && (l->gone || tcp_mesh_reason(tcp_link_of(l)->mesh, l->peer)))
        l->ended = true;
    return rc;
}

static int tcp_link_progress(struct link *l, struct fault *why)
{
    struct tcp_link *s = tcp_link_of(l);
    int moved = 0, rc = 0;

    if (__builtin_expect(s->fd < 0, 0)) {
        rc = tcp_link_bring_up(l, why);
        if (rc <= 0)
            return rc;
    }

    /* If another message is already buffered, return before sending: its answer and this one's then
     * share a system call. */
    if (s->ahead_have && l->recvs) {
        moved = tcp_link_receive_all(s, why);
        if (moved < 0 || (moved && s->ahead_have))
            return moved;
    }
    while (l->sends && (rc = tcp_link_send(s, why)) > 0)
        moved = 1;
    if (rc < 0)
        return rc;
    rc = tcp_link_receive_all(s, why);
    return rc < 0 ? rc : moved | rc;
}

/* A header that is sealed, or that was begun to be read, can't be left in the socket: it stays in
 * s->in_header. */
static bool tcp_link_look_into(struct tcp_link *s, struct message *m)
{
    while (s->in_header_moved < sizeof(s->in_header)) {
        struct iovec part = {(char *)&s->in_header + s->in_header_moved,
                             sizeof(s->in_header) - s->in_header_moved};
        ssize_t n = s->seal ? tcp_seal_receive(s->seal, s->fd, &part, 1)
                            : recv(s->fd, part.iov_base, part.iov_len, MSG_DONTWAIT);

        if (n <= 0)
            return false; /* the next receive meets it again */
        s->in_header_moved += (size_t)n;
    }
    *m = s->in_header;
    return true;
}

static bool tcp_link_look(struct link *l, struct message *m)
{
    struct tcp_link *s = tcp_link_of(l);
    struct fault why; /* the next progress meets it again */

    if (s->fd < 0 && tcp_link_connect(l, false, &why) <= 0)
        return false;
    if (s->seal || s->in_header_moved)
        return tcp_link_look_into(s, m);
    return recv(s->fd, m, sizeof(*m), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(*m);
}

static int tcp_link_sleep(struct link *l, struct pollfd *p)
{
    /* An ended connection would be readable for ever; the coordinator's message ends the wait, or
     * the time allowed for it. */
    if (l->ended)
        return 0;
    if (tcp_link_of(l)->fd < 0)
        return tcp_mesh_watch(tcp_link_of(l)->mesh, l->peer, p);
    *p = (struct pollfd){.fd = tcp_link_of(l)->fd,
                         .events = (short)((l->recvs ? POLLIN : 0) | (l->sends ? POLLOUT : 0))};
    return 1;
}

static void tcp_link_look_silent(struct link *l)
{
    struct tcp_link *s = tcp_link_of(l);

    if (s->fd < 0 || !address_is_silent(s->fd))
        return;
    tcp_link_keep_cause(s, ETIMEDOUT);
    l->ended = true;
}

static void tcp_link_wake(struct link *l)
{
    (void)l;
}

static const struct fault *tcp_link_reason(const struct link *l)
{
    const struct tcp_link *s = (const struct tcp_link *)l;

    if (s->failed)
        return s->failed;
    return s->mesh ? tcp_mesh_reason(s->mesh, l->peer) : NULL;
}

static void tcp_link_close(struct link *l)
{
    struct tcp_link *s = tcp_link_of(l);

    if (s->fd >= 0)
        shutdown(s->fd, SHUT_WR);
    /* The peer, if it still needs what was sent, gets it. */
    if (s->fd >= 0 && s->mesh && !l->ended && !l->gone && !l->group->broken.code)
        tcp_mesh_part_from(s->mesh, s->fd);
    else
        fork_guard_close(s->fd);
    tcp_seal_destroy(s->seal);
    free(s->failed);
    free(s->bounce);
    free(s->ahead);
    free(s);
}

static const struct link_ops tcp_link_ops = {
    .name = "tcp",
    .spin_ns = 500 * 1000,
    .asks_kernel = true,
    .tells_end = true,
    .takes_gpu = true,
    .drain_ms = 300,
    .progress = tcp_link_progress,
    .sleep = tcp_link_sleep,
    .wake = tcp_link_wake,
    .look = tcp_link_look,
    .reason = tcp_link_reason,
    .look_silent = tcp_link_look_silent,
    .close = tcp_link_close,
};

int tcp_link_open(struct link **out, struct group *g, int peer, int fd, struct tcp_seal *seal,
                  struct fault *why)
{
    struct tcp_link *s = calloc(1, sizeof(*s));

    if (!s) {
        close(fd);
        tcp_seal_destroy(seal);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    link_init(&s->base, &tcp_link_ops, g, peer);
    s->fd = fd;
    s->seal = seal;
    fork_guard_add(fd);
    *out = &s->base;
    return 0;
}

int tcp_link_open_later(struct link **out, struct group *g, int peer, struct tcp_mesh *m,
                        struct fault *why)
{
    struct tcp_link *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    link_init(&s->base, &tcp_link_ops, g, peer);
    s->base.is_connecting = true;
    s->fd = -1;
    s->mesh = m;
    *out = &s->base;
    return 0;
}
