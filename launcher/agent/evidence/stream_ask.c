/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/stream_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM_LEAST = 1 << 14 };

bool stream_ask_open(struct stream_ask *a, const struct address *to, const char *question)
{
    *a = (struct stream_ask){.fd = -1, .rest = question};
    if (address_connect_start(to, &a->fd, NULL))
        return false;
    stream_ask_run(a);
    return a->fd >= 0;
}

static void stream_end(struct stream_ask *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

void stream_ask_close(struct stream_ask *a)
{
    stream_end(a);
    free(a->text);
    a->text = NULL;
}

struct pollfd stream_ask_poll(const struct stream_ask *a)
{
    return (struct pollfd){.fd = a->fd, .events = (short)(*a->rest ? POLLOUT : POLLIN)};
}

static bool is_passing(int err)
{
    return err == EAGAIN || err == EINTR || err == ENOTCONN;
}

static void question_send(struct stream_ask *a)
{
    while (*a->rest) {
        ssize_t n = send(a->fd, a->rest, strlen(a->rest), MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && !is_passing(errno))
            stream_end(a);
        if (n < 0)
            return;
        a->was_heard = true;
        a->rest += n;
    }
}

static bool room_make(struct stream_ask *a)
{
    size_t room = a->room ? a->room * 2 : ROOM_LEAST;
    char *more;

    if (a->size + 1 < a->room)
        return true;
    more = room <= STREAM_ASK_MOST ? realloc(a->text, room) : NULL;
    if (!more)
        return false;
    a->text = more;
    a->room = room;
    return true;
}

static void answer_receive(struct stream_ask *a)
{
    ssize_t n;

    while (room_make(a)) {
        n = recv(a->fd, a->text + a->size, a->room - 1 - a->size, MSG_DONTWAIT);
        if (n < 0 && is_passing(errno)) {
            a->text[a->size] = '\0';
            return;
        }
        if (n <= 0)
            break;
        a->size += (size_t)n;
    }
    if (a->text)
        a->text[a->size] = '\0';
    stream_end(a);
}

void stream_ask_run(struct stream_ask *a)
{
    if (a->fd >= 0)
        question_send(a);
    if (a->fd >= 0 && !*a->rest)
        answer_receive(a);
}
