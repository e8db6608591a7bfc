/* SPDX-License-Identifier: MIT */
#include "launcher/agent/children/stack_child.h"

#include "launcher/agent/children/worker_child_linux.h"
#include "launcher/agent/queries/answer.h"
#include "launcher/agent/queries/probe_run.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MOST = 16 << 20 };

struct stack_child {
    struct frame_stream *frames, *channel;
    bool has_answered;
};

static void error_send(struct frame_stream *channel, const char *text)
{
    frame_stream_send_json(channel, AGENT_ANSWER, json_pack("{ss}", "error", text));
}

static void on_answer(const struct frame *f, void *arg)
{
    struct stack_child *p = arg;

    if (!p->has_answered)
        frame_stream_send(p->channel, AGENT_ANSWER, f->payload, f->size);
    p->has_answered = true;
}

static void on_end(const char *why, void *arg)
{
    struct stack_child *p = arg;

    (void)why;
    if (!p->has_answered)
        error_send(p->channel, "the process that looks at the ranks has ended");
    p->has_answered = true;
}

_Noreturn static void child_run(int fd, const uint8_t *question, size_t size)
{
    struct probe_run none = {0};
    struct fault why;
    char *text;

    worker_child_begin(fd);
    text = json_dumps(answer_make((const char *)question, size, &none), JSON_COMPACT);
    if (!text || strlen(text) > ANSWER_MOST)
        _exit(1);
    _exit(frame_send(WORKER_CHILD_FD, AGENT_ANSWER, text, (uint32_t)strlen(text), -1, &why) ? 1
                                                                                            : 0);
}

/* NULL: errno says why. */
static struct stack_child *process_start(struct event_base *base, struct frame_stream *channel,
                                         const uint8_t *question, size_t size)
{
    struct stack_child *p = calloc(1, sizeof(*p));
    const struct frame_stream_events events = {on_answer, on_end, NULL, p};
    int ends[2] = {-1, -1};
    struct fault why;
    pid_t pid;

    if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        free(p);
        return NULL;
    }
    p->channel = channel;
    pid = fork();
    if (pid == 0)
        child_run(ends[1], question, size);
    close(ends[1]);
    if (pid < 0 || frame_stream_open(&p->frames, base, ends[0], ends[0], &events, &why)) {
        close(ends[0]);
        free(p);
        return NULL;
    }
    return p;
}

void stack_child_ask(struct stack_child **p, struct event_base *base, struct frame_stream *channel,
                     const uint8_t *question, size_t size)
{
    if (*p && !(*p)->has_answered) {
        error_send(channel, "the question before is not answered yet");
        return;
    }
    stack_child_close(*p);
    *p = process_start(base, channel, question, size);
    if (!*p)
        error_send(channel, "no process can be started that looks at the ranks");
}

void stack_child_close(struct stack_child *p)
{
    if (!p)
        return;
    frame_stream_close(p->frames);
    free(p);
}
