/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/question_door.h"

#include "common/build_id.h"
#include "common/log.h"
#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/protocol/frame_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    CALLERS_MOST = 256,
    BACKLOG = 128,
    ACCEPT_AGAIN_MS = 100, /* after descriptors have run out */
};

struct door_caller {
    TAILQ_ENTRY(door_caller) entry;
    struct question_door *door;
    struct frame_stream *frames;
    int host;        /* -1: not named yet */
    bool is_waiting; /* for an answer */
    bool has_ended;
};

struct question_door {
    struct event_base *base;
    struct evconnlistener *listener; /* NULL: it is shut */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct agent_session *session;
    int hosts;
    TAILQ_HEAD(door_callers, door_caller) callers;
    int count;
    struct event *sweep; /* frees those that have ended */
    struct event *accept_again;
};

static void error_send(struct door_caller *c, const char *text)
{
    frame_stream_send_json(c->frames, AGENT_ANSWER, json_pack("{so}", "error", text_json(text)));
}

static void on_answer(json_t *said, void *arg)
{
    struct door_caller *c = arg;

    c->is_waiting = false;
    if (said)
        frame_stream_send_json(c->frames, AGENT_ANSWER, json_incref(said));
    else
        error_send(c, "its agent has ended");
}

/* Those that look. What acts is asked on the host itself, or of mlaunch by a signal. */
static bool is_look(const json_t *question)
{
    static const char *const looks[] = {"list", "facts", "metrics", "find"};
    const char *what = object_field_text(question, "what");

    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++)
        if (strcmp(what, looks[i]) == 0)
            return true;
    return false;
}

static void on_question(struct door_caller *c, const struct frame *f)
{
    struct question_door *d = c->door;
    json_t *question = reported_json((const char *)f->payload, f->size, NULL);
    const struct session_agent *agent =
        c->host < d->hosts ? agent_session_agent(d->session, c->host) : NULL;

    if (!is_look(question)) {
        error_send(c, "the job's mlaunch passes on no such question");
    } else if (!agent || !agent->is_greeted || agent->has_ended) {
        error_send(c, "the job's mlaunch has no connection to its agent now");
    } else {
        c->is_waiting = true;
        agent_session_ask_for(d->session, c->host, json_incref(question), on_answer, c);
    }
    json_decref(question);
}

static void hello_send(struct door_caller *c)
{
    struct utsname system;

    uname(&system);
    frame_stream_send_json(
        c->frames, AGENT_HELLO,
        json_pack("{ss ss si}", "build", build_id, "arch", system.machine, "pid", (int)getpid()));
}

static void on_frame(const struct frame *f, void *arg)
{
    struct door_caller *c = arg;
    uint32_t host;

    if (f->type == LAUNCH_DOOR && f->size == sizeof(host) && c->host < 0) {
        memcpy(&host, f->payload, sizeof(host));
        c->host = (int)(ntohl(host) & INT32_MAX);
        hello_send(c);
    } else if (f->type == LAUNCH_QUERY && c->host >= 0 && !c->is_waiting) {
        on_question(c, f);
    } else if (f->type == LAUNCH_PING && f->size == 0) {
        frame_stream_send(c->frames, AGENT_PONG, NULL, 0);
    } else if (f->type != LAUNCH_BYE) {
        frame_stream_fail(c->frames, "a frame that is invalid now");
    }
}

static void on_end(const char *why, void *arg)
{
    struct door_caller *c = arg;

    if (why)
        log_debug("a process that asked about the job: %s", why);
    c->has_ended = true;
    event_active(c->door->sweep, EV_TIMEOUT, 0);
}

static void caller_free(struct door_caller *c)
{
    struct question_door *d = c->door;

    if (c->is_waiting)
        agent_session_forget(d->session, c->host, c);
    frame_stream_close(c->frames);
    TAILQ_REMOVE(&d->callers, c, entry);
    free(c);
    if (d->count-- == CALLERS_MOST && d->listener)
        evconnlistener_enable(d->listener);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct question_door *d = arg;
    struct door_caller *c = TAILQ_FIRST(&d->callers);

    (void)fd, (void)what;
    while (c) {
        struct door_caller *next = TAILQ_NEXT(c, entry);

        if (c->has_ended)
            caller_free(c);
        c = next;
    }
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int size, void *arg)
{
    struct question_door *d = arg;
    struct door_caller *c = calloc(1, sizeof(*c));
    const struct frame_stream_events events = {on_frame, on_end, NULL, c};
    struct fault why;

    (void)from, (void)size;
    if (!c || frame_stream_open(&c->frames, d->base, fd, fd, &events, &why)) {
        close(fd);
        free(c);
        return;
    }
    c->door = d;
    c->host = -1;
    TAILQ_INSERT_TAIL(&d->callers, c, entry);
    if (++d->count == CALLERS_MOST)
        evconnlistener_disable(listener);
}

/* For want of descriptors the listener stays readable, so without a pause the loop would spin. */
static void on_no_accept(struct evconnlistener *listener, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_AGAIN_MS * 1000};
    struct question_door *d = arg;

    evconnlistener_disable(listener);
    event_add(d->accept_again, &pause);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
    struct question_door *d = arg;

    (void)fd, (void)what;
    if (d->listener && d->count < CALLERS_MOST)
        evconnlistener_enable(d->listener);
}

int question_door_create(struct question_door **out, struct event_base *base, struct fault *why)
{
    struct question_door *d = calloc(1, sizeof(*d));

    if (d) {
        d->base = base;
        TAILQ_INIT(&d->callers);
        d->sweep = evtimer_new(base, on_sweep, d);
        d->accept_again = evtimer_new(base, on_accept_again, d);
    }
    if (!d || !d->sweep || !d->accept_again) {
        question_door_destroy(d);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = d;
    return 0;
}

void question_door_destroy(struct question_door *d)
{
    if (!d)
        return;
    if (d->listener) {
        evconnlistener_free(d->listener);
        unlink(d->path);
        d->listener = NULL;
    }
    for (struct door_caller *c = TAILQ_FIRST(&d->callers), *next; c; c = next) {
        next = TAILQ_NEXT(c, entry);
        caller_free(c);
    }
    if (d->sweep)
        event_free(d->sweep);
    if (d->accept_again)
        event_free(d->accept_again);
    free(d);
}

int question_door_open(struct question_door *d, const char *path, struct fault *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (snprintf(d->path, sizeof(d->path), "%s", path) >= (int)sizeof(d->path))
        return fault_set(why, ML_ERR_SYSTEM, "the path %.120s... is too long for a socket", path);
    memcpy(address.sun_path, d->path, sizeof(d->path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
        chmod(path, S_IRUSR | S_IWUSR) || listen(fd, BACKLOG)) {
        fault_os(why, ML_ERR_SYSTEM, errno, "cannot listen at %s", path);
    } else {
        d->listener = evconnlistener_new(d->base, on_accept, d,
                                         LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
        if (d->listener) {
            evconnlistener_set_error_cb(d->listener, on_no_accept);
            return 0;
        }
        fault_set(why, ML_ERR_MEMORY, "out of memory");
        unlink(path);
    }
    if (fd >= 0)
        close(fd);
    return why->code;
}

void question_door_serve(struct question_door *d, struct agent_session *session, int count)
{
    if (!d)
        return;
    d->session = session;
    d->hosts = count;
}
