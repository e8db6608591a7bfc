/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/agent_channel.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "launcher/wire/channel/channel.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/protocol/frame_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct agent_channel {
    struct agent_channel_events events;
    struct event_base *base;
    int host;
    const struct host *to;
    struct channel *channel;
    struct frame_stream *frames; /* once the channel is open */
    int fd;                      /* the same as in `frames`, for shutdown() */
    int64_t begun_ms;            /* when it began to be opened */
    int64_t heard_ms;            /* when the last frame came */
    bool has_spoken;             /* the agent */
    bool is_refused;             /* by agent_channel_refuse */
    bool ended;
    char text[768]; /* the reason for its end */

    /* The channel's thread stores its result in `opened` and rings the bell. */
    int bell; /* eventfd */
    struct event *on_bell;
    pthread_mutex_t lock; /* for `opened`, and for ringing */
    struct fault opened;
};

static void channel_end(struct agent_channel *a, const char *text)
{
    if (a->ended)
        return;
    a->ended = true;
    snprintf(a->text, sizeof(a->text), "%s", text);
    log_debug("host %s: the channel to its agent has ended: %s", a->to->name, text);
    a->events.on_end(a->host, a->text, a->events.arg);
}

static void on_frame(const struct frame *f, void *arg)
{
    struct agent_channel *a = arg;

    a->heard_ms = clock_ms();
    a->has_spoken = true;
    if (!a->ended)
        a->events.on_frame(a->host, f, a->events.arg);
}

static void on_end(const char *why, void *arg)
{
    struct agent_channel *a = arg;
    char exit_reason[512];

    if (!why) {
        channel_exit_reason(a->channel, exit_reason, sizeof(exit_reason));
        why = exit_reason;
    }
    channel_end(a, why);
}

static void bell_close(struct agent_channel *a)
{
    if (a->on_bell)
        event_free(a->on_bell);
    if (a->bell >= 0)
        close(a->bell);
    a->on_bell = NULL;
    a->bell = -1;
}

/* In the channel's thread, or within channel_open; once. */
static void on_channel_ready(struct channel *c, const struct fault *why, void *arg)
{
    struct agent_channel *a = arg;

    (void)c;
    pthread_mutex_lock(&a->lock);
    a->opened = *why;
    eventfd_write(a->bell, 1); /* the bell is closed behind the lock */
    pthread_mutex_unlock(&a->lock);
}

static void on_opened(evutil_socket_t fd, short what, void *arg)
{
    const struct frame_stream_events events = {on_frame, on_end, NULL, arg};
    struct agent_channel *a = arg;
    struct fault why;
    int rc;

    (void)fd;
    (void)what;
    pthread_mutex_lock(&a->lock);
    why = a->opened;
    pthread_mutex_unlock(&a->lock);
    bell_close(a);
    if (a->ended)
        return;
    if (why.code) {
        channel_end(a, why.text);
        return;
    }
    a->heard_ms = clock_ms();
    log_debug("host %s: the channel to its agent is open after %d ms", a->to->name,
              (int)(a->heard_ms - a->begun_ms));
    a->fd = channel_take_fd(a->channel);
    rc = a->fd < 0 ? fault_os(&why, ML_ERR_SYSTEM, errno, "cannot use the channel")
                   : frame_stream_open(&a->frames, a->base, a->fd, a->fd, &events, &why);
    if (rc)
        channel_end(a, why.text);
}

static const char *const method_names[] = {[LAUNCH_METHOD_SSH] = "over SSH",
                                           [LAUNCH_METHOD_LOCAL] = "on this machine",
                                           [LAUNCH_METHOD_SRUN] = "by srun",
                                           [LAUNCH_METHOD_COMMAND] = "by --agent-command",
                                           [LAUNCH_METHOD_JOIN] = "once it has joined",
                                           [LAUNCH_METHOD_HEAD] = "through the job's mlaunch"};

int agent_channel_open(struct agent_channel **out, struct event_base *base, int host,
                       const struct host *to, const struct channel_config *config,
                       const struct agent_channel_events *events, struct fault *why)
{
    struct agent_channel *a = calloc(1, sizeof(*a));
    int rc;

    if (!a)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    a->events = *events;
    a->base = base;
    a->host = host;
    a->to = to;
    a->begun_ms = clock_ms();
    a->fd = -1;
    pthread_mutex_init(&a->lock, NULL);
    a->bell = eventfd(0, EFD_CLOEXEC);
    if (a->bell >= 0)
        a->on_bell = event_new(base, a->bell, EV_READ, on_opened, a);
    if (!a->on_bell || event_add(a->on_bell, NULL)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot open a channel");
        goto fail;
    }
    log_debug("host %s: opening a channel to its agent %s", to->name,
              method_names[to->launch_method]);
    rc = channel_open(&a->channel, to, config, on_channel_ready, a, why);
    if (rc)
        goto fail;
    *out = a;
    return 0;
fail:
    agent_channel_close(a);
    return rc;
}

void agent_channel_close(struct agent_channel *a)
{
    if (!a)
        return;
    frame_stream_close(a->frames);
    if (!a->frames && a->fd >= 0)
        close(a->fd);
    channel_close(a->channel);
    bell_close(a);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static bool channel_is_open(const struct agent_channel *a)
{
    return a->frames && !a->ended;
}

void agent_channel_send(struct agent_channel *a, int type, const void *payload, size_t size)
{
    if (channel_is_open(a))
        frame_stream_send(a->frames, type, payload, size);
}

void agent_channel_send_words(struct agent_channel *a, int type, const uint32_t *words, int count)
{
    uint32_t packed[4];

    for (int i = 0; i < count; i++)
        packed[i] = htonl(words[i]);
    agent_channel_send(a, type, packed, (size_t)count * sizeof(*packed));
}

void agent_channel_send_tagged(struct agent_channel *a, int type, uint32_t word, const void *bytes,
                               size_t size)
{
    word = htonl(word);
    if (channel_is_open(a))
        frame_stream_send_parts(a->frames, type, &word, sizeof(word), bytes, size);
}

void agent_channel_send_json(struct agent_channel *a, int type, json_t *object)
{
    if (channel_is_open(a))
        frame_stream_send_json(a->frames, type, object);
    else
        json_decref(object);
}

void agent_channel_flush(struct agent_channel *a)
{
    if (channel_is_open(a))
        frame_stream_flush(a->frames);
}

void agent_channel_shut(struct agent_channel *a)
{
    if (channel_is_open(a))
        shutdown(a->fd, SHUT_WR);
    else
        channel_end(a, "closed before it was open");
}

void agent_channel_check_silence(struct agent_channel *a, const char *advice)
{
    char text[512];

    if (!channel_is_open(a) || clock_ms() - a->heard_ms < AGENT_SILENCE_MS)
        return;
    snprintf(text, sizeof(text), "nothing was heard from its agent for %g s%s",
             FAILURE_SECONDS(AGENT_SILENCE_MS), advice);
    frame_stream_fail(a->frames, text);
}

void agent_channel_reset_silence(struct agent_channel *a)
{
    a->heard_ms = clock_ms();
}

void agent_channel_fail(struct agent_channel *a, const char *text)
{
    if (channel_is_open(a))
        frame_stream_fail(a->frames, text);
    else
        channel_end(a, text);
}

void agent_channel_refuse(struct agent_channel *a, const char *text)
{
    a->is_refused = true;
    agent_channel_fail(a, text);
}

enum channel_outlook agent_channel_outlook(const struct agent_channel *a)
{
    int code = a->opened.code; /* the channel's thread does not change it any more */

    if (a->is_refused)
        return CHANNEL_STAYS_WRONG;
    if (a->has_spoken || code == ML_ERR_LINK || code == ML_ERR_TIMEOUT)
        return CHANNEL_MAY_RETURN;
    if (a->to->launch_method == LAUNCH_METHOD_SSH)
        return code ? CHANNEL_STAYS_WRONG : CHANNEL_MAY_RETURN;
    return CHANNEL_MAY_NOT_RETURN;
}

void agent_channel_cut(struct agent_channel *a, const char *text)
{
    if (!channel_is_open(a))
        return;
    shutdown(a->fd, SHUT_RDWR);
    frame_stream_fail(a->frames, text);
}
