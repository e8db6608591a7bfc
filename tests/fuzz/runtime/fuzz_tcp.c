/* SPDX-License-Identifier: MIT */
/*
 * fuzz_tcp.c: any bytes on the connections between ranks. The first byte of the input chooses:
 *   a   a stranger connects to this rank: it is never taken for a member
 *   c   this rank has connected to a stranger: likewise
 *   l   a link: the rest are messages from a member whose program has gone wrong
 *   r   the same, but the link reads ahead, and is asked after each 64 bytes
 * Of the first two the rest is lines, each a frame: two digits of its type and its payload, in
 * which @ is replaced by this build's id; or ! and bytes as they are. In a link each h stands for
 * the header that comes next, every other byte for itself.
 */
#include "common/build_id.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/message.h"
#include "runtime/group/message_op.h"
#include "runtime/group/world.h"
#include "runtime/tcp/tcp_link.h"
#include "runtime/tcp/tcp_wire.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_OPS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct group *group_of(struct world *w)
{
    static const int members[] = {0, 1};
    static int host_of[] = {0, 1};
    static char *names[] = {(char *)"a", (char *)"b"};
    struct group *g;
    struct fault why;

    *w = (struct world){.job = {.job = "job", .size = 2}, .secret = {1}, .size = 2, .hosts = 2};
    w->host_of = host_of;
    w->host_names = names;
    if (coord_events_open(&w->coord_events, NULL, 2, NULL, &why) ||
        group_create(&g, w, 0, members, 2, &why))
        abort();
    return g;
}

/* --- the handshake ---------------------------------------------------------------------------- */

static int wire_open(struct tcp_wire *w, const struct group *g, bool accepts, int fd)
{
    const struct world *world = g->world;
    struct auth_identity me = {.purpose = "mesh"};
    struct fault why;
    int rc;

    if (accepts)
        return tcp_wire_accept(w, g->world, fd, &why);
    *w = (struct tcp_wire){.state = TCP_WIRE_CONNECTING, .fd = fd, .peer = 1};
    rc = auth_create_connector(&w->auth, world->job.job, world->secret, &me, &why);
    if (!rc)
        rc = frame_reader_create(&w->reader, FRAME_LIMIT_SMALL, &why);
    w->out = auth_output(w->auth, &w->out_size);
    return rc;
}

static void line_send(int fd, const uint8_t *line, size_t size)
{
    uint8_t bytes[8192];
    size_t id = strlen(build_id), used = FRAME_HEADER;

    if (size < 2)
        return;
    if (line[0] == '!') {
        send(fd, line + 1, size - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
    }
    for (size_t i = 2; i < size && used + id < sizeof(bytes); i++) {
        for (size_t k = 0; k < id && line[i] == '@'; k++)
            bytes[used++] = (uint8_t)build_id[k];
        if (line[i] != '@')
            bytes[used++] = line[i];
    }
    frame_header(bytes, (uint8_t)((line[0] - '0') * 10 + (line[1] - '0')),
                 (uint32_t)(used - FRAME_HEADER));
    send(fd, bytes, used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void shake(const struct group *g, bool accepts, const int pair[2], const uint8_t *at,
                  const uint8_t *end)
{
    struct tcp_wire w = {.fd = -1, .peer = -1};
    struct fault why = {0};
    uint8_t answer[4096];
    const uint8_t *next;
    int rc = wire_open(&w, g, accepts, pair[0]);

    for (; at < end && !rc; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next : end;
        line_send(pair[1], at, (size_t)(next - at));
        rc = tcp_wire_step(&w, POLLIN | POLLOUT, &why);
        if (w.is_proved || (rc && (why.code >= 0 || !why.text[0])))
            abort();
        while (recv(pair[1], answer, sizeof(answer), MSG_DONTWAIT) > 0)
            continue;
    }
    tcp_wire_drop(&w);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A receive, or NULL, as its sender would announce it. */
static void header_send(const struct group *g, int fd, const struct message_op *t)
{
    struct message m;

    if (!t)
        return;
    message_fill(&m, &g->call, t);
    send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void talk(struct group *g, const int pair[2], bool reads_ahead, const uint8_t *at,
                 const uint8_t *end)
{
    float sums[3] = {1, 2, 3};
    char bytes[2][5];
    struct message_op t[MESSAGE_OPS] = {
        {.what = MESSAGE_OP_RECV, .peer = 1, .buf = bytes[0], .size = sizeof(bytes[0])},
        {.what = MESSAGE_OP_REDUCE, .peer = 1, .buf = sums, .with = sums, .size = sizeof(sums)},
        {.what = MESSAGE_OP_RECV, .peer = 1},
        {.what = MESSAGE_OP_RECV, .peer = 1, .buf = bytes[1], .size = sizeof(bytes[1])}};
    struct message m;
    struct fault why = {0};
    int rc = 1, headers = 0;

    g->call = (struct call){.count = 3, .kind = CALL_ALL_REDUCE, .type = ML_FLOAT32, .op = ML_SUM};
    if (tcp_link_open(&g->links[1], g, 1, pair[0], NULL, &why) ||
        message_op_start(g, t, MESSAGE_OPS, &why))
        abort();
    g->links[1]->reads_ahead = reads_ahead;
    for (int i = 1; at < end && rc >= 0; at++, i++) {
        if (*at == 'h' && !reads_ahead)
            header_send(g, pair[1], g->links[1]->recvs);
        else if (*at == 'h')
            header_send(g, pair[1], headers < MESSAGE_OPS ? &t[headers++] : NULL);
        else
            send(pair[1], at, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (reads_ahead && i % 64 && at + 1 < end)
            continue;
        rc = g->links[1]->ops->progress(g->links[1], &why);
        if (!reads_ahead && !g->links[1]->recvs && g->links[1]->ops->look(g->links[1], &m))
            message_check_early(g, &m, 1, NULL);
    }
    if (rc < 0 && (why.code >= 0 || !why.text[0]))
        abort();
    message_op_drop(g);
    g->links[1]->ops->close(g->links[1]);
    g->links[1] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    struct group *g;
    int pair[2];

    if (size == 0 || !data[0] || !strchr("aclr", data[0]))
        return 0;
    g = group_of(&w);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
        abort();
    if (data[0] == 'l' || data[0] == 'r')
        talk(g, pair, data[0] == 'r', data + 1, data + size);
    else
        shake(g, data[0] == 'a', pair, data + 1, data + size);
    close(pair[1]);
    group_destroy(g);
    coord_events_close(w.coord_events);
    return 0;
}
