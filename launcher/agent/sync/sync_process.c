/* SPDX-License-Identifier: MIT */
#include "launcher/agent/sync/sync_process.h"

#include "launcher/agent/host/worker_child_linux.h"
#include "launcher/agent/sync/sync_engine.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct sync_process {
    struct frame_stream *frames, *channel;
};

static void on_report(const struct frame *f, void *arg)
{
    struct sync_process *p = arg;

    frame_stream_send_parts(p->channel, AGENT_SYNC, &f->type, 1, f->payload, f->size);
}

static void on_end(const char *why, void *arg)
{
    struct sync_process *p = arg;

    frame_stream_fail(p->channel, why ? why : "the copying process has ended");
}

_Noreturn static void child_run(int fd)
{
    worker_child_begin(fd);
    sync_engine_run(WORKER_CHILD_FD);
}

int sync_process_start(struct sync_process **out, struct event_base *base,
                       struct frame_stream *channel, struct fault *why)
{
    struct sync_process *p = calloc(1, sizeof(*p));
    const struct frame_stream_events events = {on_report, on_end, NULL, p};
    int ends[2] = {-1, -1}, rc;
    pid_t pid;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket");
        goto fail;
    }
    p->channel = channel;
    pid = fork();
    if (pid == 0)
        child_run(ends[1]);
    if (pid < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot start the copying process");
        goto fail;
    }
    close(ends[1]);
    ends[1] = -1;
    rc = frame_stream_open(&p->frames, base, ends[0], ends[0], &events, why);
    if (rc)
        goto fail;
    *out = p;
    return 0;
fail:
    if (ends[0] >= 0)
        close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    free(p);
    return rc;
}

void sync_process_close(struct sync_process *p)
{
    if (!p)
        return;
    frame_stream_close(p->frames); /* its end ends the process, as does that of the worker */
    free(p);
}

void sync_process_order(struct sync_process *p, const uint8_t *payload, size_t size)
{
    frame_stream_send(p->frames, payload[0], payload + 1, size - 1);
}
