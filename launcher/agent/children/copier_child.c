/* SPDX-License-Identifier: MIT */
#include "launcher/agent/children/copier_child.h"

#include "launcher/base/process/install_path.h"
#include "launcher/base/process/pidfd_linux.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdlib.h>
#include <unistd.h>

struct copier_child {
    struct frame_stream *frames, *channel;
    void (*on_end)(const char *text, void *arg);
    void *arg;
    int pidfd; /* or -1 */
};

static void on_report(const struct frame *f, void *arg)
{
    struct copier_child *p = arg;

    frame_stream_send_parts(p->channel, AGENT_SYNC, &f->type, 1, f->payload, f->size);
}

static void on_frames_end(const char *why, void *arg)
{
    struct copier_child *p = arg;

    p->on_end(why ? why : "mlaunch-copier has ended", p->arg);
}

static int process_start(struct stream_child *out, struct fault *why)
{
    char path[PATH_MAX], *argv[] = {path, NULL};
    int rc = install_path_find(path, INSTALL_COPIER, why);

    if (rc == ML_ERR_STATE)
        return rc;
    if (rc)
        return fault_set(why, rc,
                         "mlaunch-copier, which receives files from other hosts, is missing: "
                         "mlaunch is not installed as a whole there");
    return stream_child_start(out, argv, environ, false, why);
}

int copier_child_start(struct copier_child **out, struct event_base *base,
                       struct frame_stream *channel, void (*on_end)(const char *text, void *arg),
                       void *arg, struct fault *why)
{
    struct copier_child *p = calloc(1, sizeof(*p));
    const struct frame_stream_events events = {on_report, on_frames_end, NULL, p};
    struct stream_child child;
    int rc;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *p = (struct copier_child){.channel = channel, .on_end = on_end, .arg = arg, .pidfd = -1};
    rc = process_start(&child, why);
    if (!rc) {
        rc = frame_stream_open(&p->frames, base, child.fd, child.fd, &events, why);
        if (rc)
            stream_child_end(&child);
        else
            p->pidfd = pidfd_linux_open(child.pid);
    }
    if (rc)
        free(p);
    else
        *out = p;
    return rc;
}

void copier_child_end(struct copier_child *p)
{
    if (!p || p->pidfd < 0)
        return;
    pidfd_linux_kill(p->pidfd);
    close(p->pidfd);
    p->pidfd = -1;
}

void copier_child_close(struct copier_child *p)
{
    if (!p)
        return;
    copier_child_end(p);
    frame_stream_close(p->frames); /* without pidfds this ends the process, as the worker's end */
    free(p);
}

void copier_child_order(struct copier_child *p, const uint8_t *payload, size_t size)
{
    frame_stream_send(p->frames, payload[0], payload + 1, size - 1);
}
