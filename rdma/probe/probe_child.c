/* SPDX-License-Identifier: MIT */
#include "rdma/probe/probe_child.h"

#include "common/clock.h"
#include "common/text/parsed_json.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MOST = 1 << 18, CHILDREN_MOST = 256 };

void probe_child_start(struct probe_child *c, probe_child_fn *run, const void *arg)
{
    int fds[2];

    c->fd = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return;
    c->pid = fork();
    if (c->pid == 0) {
        close(fds[0]);
        run(c->name, fds[1], arg);
        _exit(0);
    }
    close(fds[1]);
    if (c->pid > 0)
        c->fd = fds[0];
    else
        close(fds[0]);
}

static bool has_line(const struct probe_child *c)
{
    return c->size > 0 && memchr(c->text, '\n', c->size);
}

static void child_read(struct probe_child *c)
{
    ssize_t n = 0;

    if (!c->text)
        c->text = malloc(TEXT_MOST);
    if (c->text && c->size < TEXT_MOST)
        n = read(c->fd, c->text + c->size, TEXT_MOST - c->size);
    if (n > 0) {
        c->size += (size_t)n;
        return;
    }
    close(c->fd);
    c->fd = -1;
}

static void children_gather(struct probe_child *children, int count, int deadline_ms)
{
    struct pollfd polls[CHILDREN_MOST];
    int64_t deadline = clock_ms() + deadline_ms;

    for (;;) {
        int64_t left = deadline - clock_ms();
        int waiting = 0;

        for (int i = 0; i < count; i++) {
            int fd = has_line(&children[i]) ? -1 : children[i].fd;

            polls[i] = (struct pollfd){.fd = fd, .events = POLLIN};
            waiting += fd >= 0;
        }
        if (waiting == 0 || left <= 0)
            return;
        if (poll(polls, (nfds_t)count, (int)left) < 0 && errno != EINTR)
            return;
        for (int i = 0; i < count; i++)
            if (polls[i].fd >= 0 && polls[i].revents)
                child_read(&children[i]);
    }
}

/* The line as an object; the caller's. */
static json_t *child_answer(struct probe_child *c, int deadline_ms)
{
    json_t *report = has_line(c) ? parsed_json(c->text, c->size, 0, NULL) : NULL;

    if (!report && c->fd >= 0)
        report = json_pack("{s:o}", "error",
                           json_sprintf("%s does not answer within %d s: its driver hangs (see the "
                                        "kernel's log), or the host is overloaded",
                                        c->name, deadline_ms / 1000));
    else if (!report)
        report =
            json_pack("{s:o}", "error",
                      json_sprintf("looking at %s failed: its driver's library crashed", c->name));
    json_object_set_new(report, "name", json_string(c->name));
    c->size = 0;
    return report;
}

bool probe_children_print(struct probe_child *children, int count, int deadline_ms, size_t flags)
{
    json_t *list = json_array(), *root;
    bool failed = false;

    children_gather(children, count, deadline_ms);
    for (int i = 0; i < count; i++) {
        json_t *report = child_answer(&children[i], deadline_ms);

        failed |= json_object_get(report, "error") != NULL;
        json_array_append_new(list, report);
    }
    root = json_pack("{s:o}", "devices", list);
    json_dumpf(root, stdout, flags);
    putchar('\n');
    json_decref(root);
    return failed;
}

void probe_child_end(struct probe_child *c)
{
    bool is_late = c->fd >= 0;

    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    /* A child that is late is not waited for: stuck in the kernel it cannot even be killed. */
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, is_late ? WNOHANG : 0);
    }
    c->pid = 0;
    free(c->text);
    c->text = NULL;
}

void probe_child_send(int fd, const json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    size_t size = text ? strlen(text) : 0, at = 0;

    if (text)
        text[size++] = '\n'; /* replaces the terminator */
    while (at < size) {
        ssize_t n = write(fd, text + at, size - at);

        if (n <= 0)
            break;
        at += (size_t)n;
    }
    free(text);
}
