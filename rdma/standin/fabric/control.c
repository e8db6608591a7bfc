/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/control.h"

#include "common/text/number.h"
#include "rdma/standin/fabric/listener_socket.h"
#include "rdma/standin/profile/notation.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MOST = 1024, WORDS_MOST = 4, ANSWER = 1024 };

struct control_caller {
    LIST_ENTRY(control_caller) entry;
    struct control *control;
    struct bufferevent *stream;
};

struct control {
    struct control_of of;
    int fd;
    struct event *on_connection;
    LIST_HEAD(control_callers, control_caller) callers;
};

/* --- commands --------------------------------------------------------------------------------- */

/* A command's words after its name, and its object. */
struct control_call {
    const struct control *control;
    char *words[WORDS_MOST];
    struct ports_port *port;
    struct ports_device *device;
    struct ports_host *host;
    char more[ANSWER]; /* after "ok" */
};

typedef int control_fn(struct control_call *c, struct fault *why);

static int on_unplug(struct control_call *c, struct fault *why)
{
    (void)why;
    ports_set_unplugged(c->control->of.ports, c->port, true);
    return 0;
}

static int on_plug(struct control_call *c, struct fault *why)
{
    (void)why;
    ports_set_unplugged(c->control->of.ports, c->port, false);
    return 0;
}

static int on_down(struct control_call *c, struct fault *why)
{
    (void)why;
    ports_set_down(c->control->of.ports, c->port, true);
    return 0;
}

static int on_up(struct control_call *c, struct fault *why)
{
    (void)why;
    ports_set_down(c->control->of.ports, c->port, false);
    return 0;
}

static int on_oneway(struct control_call *c, struct fault *why)
{
    (void)why;
    c->port->is_one_way = true;
    return 0;
}

static int on_bothways(struct control_call *c, struct fault *why)
{
    (void)why;
    c->port->is_one_way = false;
    return 0;
}

static int on_gone(struct control_call *c, struct fault *why)
{
    (void)why;
    c->host->is_gone = true;
    return 0;
}

static int on_back(struct control_call *c, struct fault *why)
{
    (void)why;
    c->host->is_gone = false;
    return 0;
}

/* Both directions of the port's wire: a switch's is the port's own lane in. */
static struct ports_lane *lane_back(struct ports_port *p)
{
    return p->other ? &p->other->out : &p->in;
}

static int value_refuse(const struct control_call *c, const char *what, const char *allowed,
                        struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT, "%s %.80s: what is allowed is %s", what, c->words[1],
                     allowed);
}

static int on_loss(struct control_call *c, struct fault *why)
{
    if (!notation_loss(c->words[1], &c->port->out.loss))
        return value_refuse(c, "loss", NOTATION_LOSS, why);
    lane_back(c->port)->loss = c->port->out.loss;
    return 0;
}

static int on_delay(struct control_call *c, struct fault *why)
{
    if (!notation_delay(c->words[1], &c->port->out.delay_ns))
        return value_refuse(c, "delay", NOTATION_DELAY, why);
    lane_back(c->port)->delay_ns = c->port->out.delay_ns;
    return 0;
}

/* What waits for the old rate waits no longer. */
static int on_rate(struct control_call *c, struct fault *why)
{
    if (!notation_rate(c->words[1], &c->port->out.rate))
        return value_refuse(c, "rate", NOTATION_RATE, why);
    lane_back(c->port)->rate = c->port->out.rate;
    lane_back(c->port)->busy_ns = c->port->out.busy_ns = 0;
    return 0;
}

static int on_longest(struct control_call *c, struct fault *why)
{
    if (!number_parse(c->words[1], 0, 4096, &c->port->out.longest))
        return value_refuse(c, "longest", "bytes from 0, for any, to 4096", why);
    lane_back(c->port)->longest = c->port->out.longest;
    return 0;
}

static int on_counters(struct control_call *c, struct fault *why)
{
    const struct ports_counters *of = &c->port->counters;

    snprintf(c->more, sizeof(c->more),
             " sent_bytes %" PRIu64 " sent_packets %" PRIu64 " received_bytes %" PRIu64
             " received_packets %" PRIu64 " errors %" PRIu64 " discards %" PRIu64 " downs %" PRIu64,
             of->sent_bytes, of->sent_packets, of->received_bytes, of->received_packets, of->errors,
             of->discards, of->downs);
    return sysfs_tree_write_counters(c->control->of.tree, why);
}

static int on_gid(struct control_call *c, struct fault *why)
{
    bool is_ethernet = c->port->is->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    union ibv_gid gid;
    int64_t index;

    if (!number_parse(c->words[1], 0, FABRIC_GIDS_MOST - 1, &index))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "gid %.80s: what is allowed is an index from 0 to %d", c->words[1],
                         FABRIC_GIDS_MOST - 1);
    if (!notation_address(c->words[2], is_ethernet, &gid))
        return fault_set(why, ML_ERR_ARGUMENT, "gid %.80s: what is allowed is " NOTATION_ADDRESS,
                         c->words[2]);
    return ports_set_gid(c->control->of.ports, c->port, (int)index, &gid, why);
}

/* Without a word to programs, as of a network interface whose MTU changes. */
static int on_mtu(struct control_call *c, struct fault *why)
{
    struct ibv_port_attr *port = &c->port->is->attr;
    int64_t bytes;
    bool is_number = number_parse(c->words[1], 256, 4096, &bytes);

    for (int mtu = IBV_MTU_256; is_number && mtu <= (int)port->max_mtu; mtu++) {
        if (bytes == 128 << mtu) {
            port->active_mtu = (enum ibv_mtu)mtu;
            return 0;
        }
    }
    return value_refuse(c, "mtu", "256, 512, 1024, 2048 or 4096, up to the port's max_mtu", why);
}

static int on_objects(struct control_call *c, struct fault *why)
{
    (void)why;
    contexts_objects(c->control->of.contexts, c->device, c->more, sizeof(c->more));
    return 0;
}

static int on_fatal(struct control_call *c, struct fault *why)
{
    (void)why;
    contexts_tell(c->control->of.contexts, &c->device->ports[0], IBV_EVENT_DEVICE_FATAL);
    return 0;
}

enum control_object { OBJECT_PORT, OBJECT_DEVICE, OBJECT_HOST };

static const struct control_command {
    const char *name;
    enum control_object object;
    int words; /* with the object */
    const char *usage;
    control_fn *run;
} commands[] = {
    {"unplug", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_unplug},
    {"plug", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_plug},
    {"down", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_down},
    {"up", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_up},
    {"oneway", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_oneway},
    {"bothways", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_bothways},
    {"gone", OBJECT_HOST, 1, "HOST", on_gone},
    {"back", OBJECT_HOST, 1, "HOST", on_back},
    {"loss", OBJECT_PORT, 2, "HOST/DEVICE:PORT SHARE", on_loss},
    {"delay", OBJECT_PORT, 2, "HOST/DEVICE:PORT TIME", on_delay},
    {"rate", OBJECT_PORT, 2, "HOST/DEVICE:PORT RATE", on_rate},
    {"longest", OBJECT_PORT, 2, "HOST/DEVICE:PORT BYTES", on_longest},
    {"counters", OBJECT_PORT, 1, "HOST/DEVICE:PORT", on_counters},
    {"gid", OBJECT_PORT, 3, "HOST/DEVICE:PORT INDEX ADDRESS", on_gid},
    {"mtu", OBJECT_PORT, 2, "HOST/DEVICE:PORT BYTES", on_mtu},
    {"objects", OBJECT_DEVICE, 1, "HOST/DEVICE", on_objects},
    {"fatal", OBJECT_DEVICE, 1, "HOST/DEVICE", on_fatal},
};

enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

static int command_unknown(const char *name, struct fault *why)
{
    char allowed[ANSWER] = "";

    for (int i = 0; i < COMMANDS; i++) {
        size_t used = strlen(allowed);

        snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? " " : "", commands[i].name);
    }
    return fault_set(why, ML_ERR_ARGUMENT, "unknown command %.80s; what is allowed is one of: %s",
                     name, allowed);
}

static int command_run(struct control_call *c, char *line, struct fault *why)
{
    const struct ports *ports = c->control->of.ports;
    char *save, *name = strtok_r(line, " \t\r", &save), *word;
    int at = 0, count = 0;

    while (at < COMMANDS && name && strcmp(commands[at].name, name) != 0)
        at++;
    if (!name || at == COMMANDS)
        return command_unknown(name ? name : "''", why);
    while ((word = strtok_r(NULL, " \t\r", &save)) && count < WORDS_MOST)
        c->words[count++] = word;
    if (count != commands[at].words)
        return fault_set(why, ML_ERR_ARGUMENT, "what is allowed is %s %s", name,
                         commands[at].usage);
    if (commands[at].object == OBJECT_PORT)
        c->port = ports_find(ports, c->words[0], why);
    else if (commands[at].object == OBJECT_DEVICE)
        c->device = ports_find_device(ports, c->words[0], why);
    else
        c->host = ports_find_host(ports, c->words[0], why);
    if (!c->port && !c->device && !c->host)
        return ML_ERR_ARGUMENT;
    return commands[at].run(c, why);
}

/* --- callers ---------------------------------------------------------------------------------- */

static void caller_close(struct control_caller *k)
{
    LIST_REMOVE(k, entry);
    bufferevent_free(k->stream);
    free(k);
}

static void on_line(struct bufferevent *stream, void *arg)
{
    struct control_caller *k = arg;
    struct evbuffer *in = bufferevent_get_input(stream);
    char *line;

    while ((line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF))) {
        struct control_call call = {.control = k->control};
        struct fault why = {0};
        int rc = command_run(&call, line, &why);

        free(line);
        evbuffer_add_printf(bufferevent_get_output(stream), "%s%s\n", rc ? "error: " : "ok",
                            rc ? why.text : call.more);
    }
    if (evbuffer_get_length(in) > LINE_MOST)
        caller_close(k);
}

static void on_end(struct bufferevent *stream, short what, void *arg)
{
    (void)stream;
    (void)what;
    caller_close(arg);
}

static void on_caller(evutil_socket_t listener, short what, void *arg)
{
    struct control *c = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct control_caller *k = fd < 0 ? NULL : calloc(1, sizeof(*k));

    (void)what;
    if (k)
        k->stream = bufferevent_socket_new(c->of.base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!k || !k->stream) {
        if (fd >= 0)
            close(fd);
        free(k);
        return;
    }
    k->control = c;
    LIST_INSERT_HEAD(&c->callers, k, entry);
    bufferevent_setcb(k->stream, on_line, NULL, on_end, k);
    bufferevent_enable(k->stream, EV_READ | EV_WRITE);
}

/* --- open and close --------------------------------------------------------------------------- */

int control_open(struct control **out, const struct control_of *of, const char *dir,
                 struct fault *why)
{
    struct control *c = calloc(1, sizeof(*c));
    int rc = 0;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->of = *of;
    c->fd = listener_socket_open(dir, "control", SOCK_STREAM, 0600, why);
    if (c->fd < 0)
        rc = c->fd;
    else
        c->on_connection = event_new(of->base, c->fd, EV_READ | EV_PERSIST, on_caller, c);
    if (!rc && (!c->on_connection || event_add(c->on_connection, NULL)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        control_close(c);
    else
        *out = c;
    return rc;
}

void control_close(struct control *c)
{
    if (!c)
        return;
    for (struct control_caller *k = LIST_FIRST(&c->callers), *next; k; k = next) {
        next = LIST_NEXT(k, entry);
        caller_close(k);
    }
    if (c->on_connection)
        event_free(c->on_connection);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}
