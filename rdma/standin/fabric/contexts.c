/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/contexts.h"

#include "rdma/standin/fabric/arrival.h"
#include "rdma/standin/fabric/context_numbers.h"
#include "rdma/standin/fabric/folder.h"
#include "rdma/standin/fabric/listener_socket.h"
#include "rdma/standin/fabric/outbox.h"
#include "rdma/standin/fabric/wires.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TURN = 64, /* messages that are read from one connection before the others have their turn */
    NUMBERS = FABRIC_CONTEXTS_MOST + 1,
};

struct context {
    LIST_ENTRY(context) entry;
    struct contexts *all;
    struct ports_device *device;
    uint32_t number; /* 0: it has not sent FABRIC_HELLO */
    int fd, arena;
    struct event *on_message;
    struct outbox *outbox;      /* NULL: it is leaving */
    uint32_t in_flight;         /* its segments on the wires */
    uint8_t knows[NUMBERS / 8]; /* bit N: it has been passed the arena of context N */
};

struct contexts_listener {
    struct contexts *all;
    struct ports_device *device;
    int fd;
    struct event *on_connection;
};

struct contexts {
    struct event_base *base;
    struct ports *ports;
    struct wires *wires;
    struct contexts_listener *listeners; /* one for each device */
    LIST_HEAD(context_list, context) list;
    struct context *by_number[NUMBERS];
    struct context_numbers numbers;
    struct fault failure;
};

static bool bit_is_set(const uint8_t *bits, uint32_t n)
{
    return bits[n / 8] & 1U << n % 8;
}

/* --- the end of a context --------------------------------------------------------------------- */

/* A context that leaves has no connection any more, and gets nothing. */
static void context_send(struct context *x, const void *message, size_t size, int descriptor)
{
    if (x->outbox)
        outbox_send(x->outbox, message, size, descriptor);
}

static void connection_close(struct context *x)
{
    if (x->on_message)
        event_free(x->on_message);
    outbox_close(x->outbox);
    if (x->fd >= 0)
        close(x->fd);
    x->on_message = NULL;
    x->outbox = NULL;
    x->fd = -1;
}

static void context_close(struct context *x)
{
    LIST_REMOVE(x, entry);
    connection_close(x);
    if (x->arena >= 0)
        close(x->arena);
    free(x);
}

/* Nothing of the context is on its way any more. */
static void context_finish(struct context *x)
{
    struct contexts *c = x->all;
    struct fabric_gone gone = {FABRIC_GONE, x->number};

    context_close(x);
    if (!gone.context)
        return;
    c->by_number[gone.context] = NULL;
    context_numbers_give(&c->numbers, gone.context);
    LIST_FOREACH(x, &c->list, entry)
    {
        x->knows[gone.context / 8] &= (uint8_t) ~(1U << gone.context % 8);
        if (x->number)
            context_send(x, &gone, sizeof(gone), -1);
    }
}

static bool objects_read(const struct context *x, struct fabric_objects *out)
{
    return x->number && pread(x->arena, out, sizeof(*out), FABRIC_OBJECTS_AT) == sizeof(*out);
}

/* What has left a device arrives also where its process has ended since. */
static void context_end(struct context *x)
{
    struct fabric_objects had;

    if (objects_read(x, &had) && had.broken)
        fprintf(stderr, "standin-fabric: %s/%s: context %u has broken rules of verbs: %u times\n",
                x->device->host->name, x->device->name, x->number, had.broken);
    connection_close(x);
    if (x->in_flight == 0)
        context_finish(x);
}

static void context_refuse(struct context *x, const char *what)
{
    char name[32] = "a caller";

    if (x->number)
        snprintf(name, sizeof(name), "context %u", x->number);
    fprintf(stderr, "standin-fabric: %s/%s: %s %s; its connection is closed\n",
            x->device->host->name, x->device->name, name, what);
    context_end(x);
}

/* --- what is passed on ------------------------------------------------------------------------ */

static void arena_pass(struct context *from, struct context *to)
{
    struct fabric_arena arena = {FABRIC_ARENA, from->number};

    if (bit_is_set(to->knows, from->number))
        return;
    to->knows[from->number / 8] |= (uint8_t)(1U << from->number % 8);
    context_send(to, &arena, sizeof(arena), from->arena);
}

static void lost_tell(struct contexts *c, const struct fabric_segment *s)
{
    struct context *from = c->by_number[s->from_context];
    struct context *to = c->by_number[fabric_context_of(s->to_qp)];
    struct fabric_segment lost = *s;

    lost.kind = FABRIC_LOST;
    context_send(from, &lost, sizeof(lost), -1);
    if (to && to != from && fabric_is_response(s))
        context_send(to, &lost, sizeof(lost), -1);
}

/* The end of a segment's way. */
static void on_arrive(void *arg, const struct fabric_segment *s, const struct ports_port *at)
{
    struct contexts *c = arg;
    struct context *from = c->by_number[s->from_context];
    struct context *to = c->by_number[fabric_context_of(s->to_qp)];

    if (at && to && to->device == at->device && to->outbox && outbox_has_room(to->outbox)) {
        arena_pass(from, to);
        context_send(to, s, sizeof(*s), -1);
    } else {
        lost_tell(c, s);
    }
    from->in_flight--;
    if (!from->outbox && from->in_flight == 0)
        context_finish(from);
}

static void segment_take(struct context *x, struct fabric_segment *s)
{
    struct ports_port *port = &x->device->ports[s->port - 1];

    s->from_context = x->number;
    s->from = port->is->gids[s->sgid_index];
    s->from_lid = port->is->attr.lid;
    x->in_flight++;
    wires_send(x->all->wires, port, s);
}

static void free_take(struct contexts *c, const struct fabric_free *f)
{
    struct context *owner = c->by_number[f->context];

    if (owner)
        context_send(owner, f, sizeof(*f), -1);
}

/* --- messages --------------------------------------------------------------------------------- */

/* True if the context is open now; else it is over. */
static bool hello_take(struct context *x, const struct arrival *a)
{
    struct contexts *c = x->all;
    struct fabric_device answer = x->device->is;
    const char *wrong = arrival_hello_error(a);

    if (wrong) {
        context_refuse(x, wrong);
        return false;
    }
    x->number = context_numbers_take(&c->numbers);
    if (!x->number) {
        context_refuse(x, "is one too many");
        return false;
    }
    c->by_number[x->number] = x;
    x->arena = a->descriptor;
    answer.context = x->number;
    context_send(x, &answer, sizeof(answer), -1);
    return true;
}

/* True if the context is open still. */
static bool message_take(struct context *x, struct arrival *a)
{
    const char *wrong = arrival_error(a, x->number, x->device->port_count);

    if (wrong) {
        context_refuse(x, wrong);
        return false;
    }
    if (a->message.kind == FABRIC_SEGMENT)
        segment_take(x, &a->message.segment);
    else
        free_take(x->all, &a->message.free);
    return true;
}

static void on_message(evutil_socket_t fd, short what, void *arg)
{
    struct context *x = arg;
    struct arrival a;
    bool is_open = true;

    (void)what;
    for (int i = 0; is_open && i < TURN; i++) {
        bool is_first = x->number == 0;

        switch (arrival_read(&a, fd)) {
        case ARRIVAL_NONE:
            return;
        case ARRIVAL_END:
            context_end(x);
            return;
        default:
            is_open = is_first ? hello_take(x, &a) : message_take(x, &a);
            if (!is_first || !is_open)
                arrival_close(&a);
        }
    }
}

/* --- connections ------------------------------------------------------------------------------ */

static void context_add(struct contexts *c, struct ports_device *d, int fd)
{
    struct context *x = calloc(1, sizeof(*x));

    if (!x) {
        close(fd);
        return;
    }
    x->all = c;
    x->device = d;
    x->fd = fd;
    x->arena = -1;
    LIST_INSERT_HEAD(&c->list, x, entry);
    x->outbox = outbox_open(c->base, fd);
    x->on_message = event_new(c->base, fd, EV_READ | EV_PERSIST, on_message, x);
    if (!x->outbox || !x->on_message || event_add(x->on_message, NULL))
        context_close(x);
}

static void on_connection(evutil_socket_t listener, short what, void *arg)
{
    struct contexts_listener *l = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    if (fd >= 0) {
        context_add(l->all, l->device, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        /* It would be asked for the same connection without end. */
        fault_os(&l->all->failure, ML_ERR_SYSTEM, errno, "cannot take a connection to %s/%s",
                 l->device->host->name, l->device->name);
        event_base_loopbreak(l->all->base);
    }
}

static int listener_open(struct contexts_listener *l, struct contexts *c, struct ports_device *d,
                         const char *dir, struct fault *why)
{
    char folder[PATH_MAX], path[PATH_MAX + 32], name[32];
    struct folder f = {folder, 0, why};

    snprintf(folder, sizeof(folder), "%s/%s/dev", dir, d->host->name);
    /* Programs open the device itself to see whether they may. */
    snprintf(name, sizeof(name), "uverbs%d", d->verbs_number);
    folder_write(&f, name, "a device of a test network");
    if (f.rc)
        return f.rc;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (chmod(path, 0666))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot change the mode of %s", path);
    snprintf(name, sizeof(name), "uverbs%d.socket", d->verbs_number);
    l->all = c;
    l->device = d;
    l->fd = listener_socket_open(folder, name, SOCK_SEQPACKET, 0666, why);
    if (l->fd < 0)
        return l->fd;
    l->on_connection = event_new(c->base, l->fd, EV_READ | EV_PERSIST, on_connection, l);
    if (!l->on_connection || event_add(l->on_connection, NULL))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

int contexts_open(struct contexts **out, struct event_base *base, struct ports *ports,
                  const char *dir, int64_t seed, struct fault *why)
{
    struct contexts *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->base = base;
    c->ports = ports;
    context_numbers_init(&c->numbers);
    c->listeners = calloc((size_t)ports->device_count, sizeof(*c->listeners));
    for (int i = 0; c->listeners && i < ports->device_count; i++)
        c->listeners[i].fd = -1;
    rc = c->listeners ? wires_open(&c->wires, base, ports, seed, on_arrive, c, why)
                      : fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; !rc && i < ports->device_count; i++)
        rc = listener_open(&c->listeners[i], c, &ports->devices[i], dir, why);
    if (rc)
        contexts_close(c);
    else
        *out = c;
    return rc;
}

void contexts_close(struct contexts *c)
{
    if (!c)
        return;
    for (int i = 0; c->listeners && i < c->ports->device_count; i++) {
        if (c->listeners[i].on_connection)
            event_free(c->listeners[i].on_connection);
        if (c->listeners[i].fd >= 0)
            close(c->listeners[i].fd);
    }
    for (struct context *x = LIST_FIRST(&c->list), *next; x; x = next) {
        next = LIST_NEXT(x, entry);
        context_close(x);
    }
    wires_close(c->wires);
    free(c->listeners);
    free(c);
}

void contexts_tell(struct contexts *c, const struct ports_port *p, enum ibv_event_type event)
{
    struct fabric_port_news news = {
        .kind = FABRIC_PORT, .number = (uint32_t)p->number, .port = *p->is, .event = event};
    struct context *x;

    LIST_FOREACH(x, &c->list, entry)
    if (x->number && x->device == p->device)
        context_send(x, &news, sizeof(news), -1);
}

/* The first word of a program's name: what is no letter, digit or underscore is none of it. */
static void program_name(pid_t pid, char name[32])
{
    char path[32];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    f = fopen(path, "re");
    if (!f || fscanf(f, "%31[A-Za-z0-9_]", name) != 1)
        snprintf(name, 32, "unknown");
    if (f)
        fclose(f);
}

void contexts_objects(const struct contexts *c, const struct ports_device *d, char *out,
                      size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (const struct context *x = LIST_FIRST(&c->list); x; x = LIST_NEXT(x, entry)) {
        struct ucred by;
        struct fabric_objects has;
        socklen_t length = sizeof(by);
        char name[32];

        if (x->device != d || used >= size || !objects_read(x, &has) ||
            getsockopt(x->fd, SOL_SOCKET, SO_PEERCRED, &by, &length))
            continue;
        program_name(by.pid, name);
        used += (size_t)snprintf(out + used, size - used, " %d %s pd %u cq %u qp %u mr %u;",
                                 (int)by.pid, name, has.pds, has.cqs, has.qps, has.mrs);
    }
}

const char *contexts_failure(const struct contexts *c)
{
    return c->failure.text;
}
