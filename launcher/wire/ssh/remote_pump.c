/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_pump.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 32768 };

/* Bytes that have been read and not yet written. */
struct pump_block {
    char bytes[BLOCK];
    size_t from, to;
};

struct pump {
    struct remote_command *command;
    int fd;
    struct pump_block out, in;  /* command → fd, fd → command */
    bool out_ended, in_ended;   /* their sources have given end of file */
    bool out_closed, in_closed; /* it has been passed on, or the other side takes no more */
    bool broken;
};

static bool block_is_empty(const struct pump_block *b)
{
    return b->from == b->to;
}

/* Moves bytes of the command's stdout to fd, as many as possible. True: some moved. */
static bool out_move(struct pump *p, struct fault *why)
{
    ssize_t n;

    if (block_is_empty(&p->out) && !p->out_ended) {
        int got = remote_command_read(p->command, p->out.bytes, BLOCK, why);

        p->broken = got < 0 && got != REMOTE_COMMAND_ENDED;
        p->out_ended = got < 0;
        p->out.from = 0;
        p->out.to = got > 0 ? (size_t)got : 0;
    }
    if (!block_is_empty(&p->out) && !p->out_closed) {
        n = send(p->fd, p->out.bytes + p->out.from, p->out.to - p->out.from,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        if (n < 0) /* mlaunch has gone: the rest is dropped */
            p->out_closed = true;
        p->out.from = n < 0 ? p->out.to : p->out.from + (size_t)n;
        return true;
    }
    if (p->out_closed)
        p->out.from = p->out.to;
    return false;
}

/* Moves bytes of fd to the command's stdin, but none while libssh holds bytes that the network has
 * not taken, because it would keep them all. True: some moved. */
static bool in_move(struct pump *p)
{
    ssh_session ssh = p->command->session->ssh;
    ssize_t n;
    int put;

    if (p->in_closed || ssh_get_poll_flags(ssh) & SSH_WRITE_PENDING)
        return false;
    if (block_is_empty(&p->in) && !p->in_ended) {
        n = recv(p->fd, p->in.bytes, BLOCK, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        p->in_ended = n <= 0;
        p->in.from = 0;
        p->in.to = n > 0 ? (size_t)n : 0;
    }
    if (!block_is_empty(&p->in)) {
        put = ssh_channel_write(p->command->channel, p->in.bytes + p->in.from,
                                (uint32_t)(p->in.to - p->in.from));
        if (put > 0)
            p->in.from += (size_t)put;
        if (put < 0) /* the command has closed its side: out_move will see its end */
            p->in_closed = true;
        return put > 0;
    }
    ssh_channel_send_eof(p->command->channel);
    p->in_closed = true;
    return true;
}

/* Waits until one of the sides can go on. ML_ERR_STATE: the channel is being closed. */
static int pump_wait(struct pump *p, struct fault *why)
{
    struct remote_session *s = p->command->session;
    bool pending = ssh_get_poll_flags(s->ssh) & SSH_WRITE_PENDING;
    struct pollfd fds[] = {
        {.fd = s->wait.wake, .events = POLLIN},
        /* Not read while mlaunch has not taken the last block: SSH's window then stops the host. */
        {.fd = s->socket.fd,
         .events = (short)((block_is_empty(&p->out) ? POLLIN : 0) | (pending ? POLLOUT : 0))},
        {.fd = p->fd,
         .events = (short)((block_is_empty(&p->out) ? 0 : POLLOUT) |
                           (block_is_empty(&p->in) && !p->in_ended && !pending ? POLLIN : 0))},
        {.fd = s->socket.proxy.errors, .events = POLLIN},
    };

    if (!fds[2].events)
        fds[2].fd = -1; /* or its hang-up would end each poll() at once */
    while (poll(fds, s->socket.proxy.pid ? 4 : 3, -1) < 0)
        if (errno != EINTR)
            return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
    if (fds[3].revents)
        last_words_read(&s->socket.words, s->socket.proxy.errors);
    if (fds[0].revents)
        return fault_set(why, ML_ERR_STATE, "closed by mlaunch");
    return 0;
}

int remote_pump(struct remote_command *c, int fd, const char *first, size_t first_size,
                struct fault *why)
{
    struct pump p = {.command = c, .fd = fd};
    int rc = 0;

    memcpy(p.out.bytes, first, first_size);
    p.out.to = first_size;
    while (!rc && (!p.out_ended || !block_is_empty(&p.out))) {
        bool moved = out_move(&p, why);

        moved = in_move(&p) || moved;
        if (!moved && !(p.out_ended && block_is_empty(&p.out)))
            rc = pump_wait(&p, why);
    }
    if (p.broken)
        rc = ML_ERR_LINK;
    return rc;
}
