/* SPDX-License-Identifier: MIT */
/*
 * fuzz_window.c: any frames from another rank of a window, while this rank has asked it for bytes
 * and a number: nothing outside this rank's part and its buffers is touched. The input is what the
 * frames consist of, and the bytes behind them; the headers of messages are added, as other targets
 * take any of these.
 */
#include "runtime/group/coord_events.h"
#include "runtime/group/message.h"
#include "runtime/group/message_op.h"
#include "runtime/group/wait.h"
#include "runtime/group/world.h"
#include "runtime/tcp/tcp_link.h"
#include "runtime/window/window_send.h"
#include "runtime/window/window_serve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PART = 128, GUARD = 64, WANTED = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct group *group_of(struct world *w, int fd)
{
    static const int members[] = {0, 1};
    static int host_of[] = {0, 1};
    static char *names[] = {(char *)"a", (char *)"b"};
    struct group *g;
    struct fault why;

    *w = (struct world){.job = {.job = "job", .size = 2}, .size = 2, .hosts = 2};
    w->host_of = host_of;
    w->host_names = names;
    if (coord_events_open(&w->coord_events, NULL, 2, NULL, &why) ||
        group_create(&g, w, 0, members, 2, &why) ||
        tcp_link_open(&g->links[1], g, 1, fd, NULL, &why))
        abort();
    return g;
}

/* Sends what the rank waits for next, as far as there is input. Returns how much was used. */
static size_t message_send(const struct group *g, int fd, const uint8_t *at, size_t left)
{
    const struct message_op *t = g->links[1]->recvs;
    struct message m;

    if (!t)
        return left;
    message_fill(&m, &g->call, t);
    left = left < t->size ? left : t->size;
    send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
    send(fd, at, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    return left;
}

static void talk(struct window *w, int fd, const uint8_t *at, const uint8_t *end)
{
    unsigned char wanted[WANTED + GUARD] = {0};
    struct fault whys[3] = {{0}};
    _Atomic bool done[3] = {false};
    struct window_order orders[3] = {{.frame = {.kind = FRAME_GET, .size = WANTED}, .into = wanted},
                                     {.frame = {.kind = FRAME_ADD, .value = 1}},
                                     {.frame = {.kind = FRAME_FLUSH}}};
    uint8_t answer[4096];
    int rc = 1;

    window_turn_take(&w->turn);
    for (int i = 0; i < 3; i++) {
        orders[i].peer = 1;
        orders[i].done = &done[i];
        orders[i].why = &whys[i];
        window_send_order(w, &orders[i]);
    }
    while (at < end && rc >= 0) {
        struct waiting waiting = {0};

        at += message_send(w->group, fd, at, (size_t)(end - at));
        rc = window_serve_look(w, &waiting);
        while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
            continue;
    }
    if (rc < 0 && (!w->broken || !w->why.text[0] || !done[0] || !done[1] || !done[2]))
        abort();
    for (int i = 0; i < GUARD; i++)
        if (wanted[WANTED + i])
            abort();
    window_turn_give(&w->turn, false);
    window_serve_end(w);
    window_serve_stop(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    _Alignas(8) unsigned char memory[GUARD + PART + GUARD] = {0};
    struct window_part parts[2] = {{.size = PART, .memory = memory + GUARD}, {.size = 16}};
    struct window *w = window_create();
    struct fault why = {0};
    struct group *g;
    int pair[2];

    if (!w || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
        abort();
    w->group = g = group_of(&world, pair[0]);
    w->parts = parts;
    if (window_control_create(&parts[0].control, 2, &why) || window_serve_start(w, &why) ||
        window_serve_begin(w, &why))
        abort();
    talk(w, pair[1], data, data + size);
    for (int i = 0; i < GUARD; i++)
        if (memory[i] || memory[GUARD + PART + i])
            abort();
    alloc_give(parts[0].control);
    window_destroy(w);
    g->links[1]->ops->close(g->links[1]);
    g->links[1] = NULL;
    close(pair[1]);
    group_destroy(g);
    coord_events_close(world.coord_events);
    return 0;
}
