/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/hub_starter.h"

#include "common/failure_times.h"
#include "launcher/base/process/pidfd_linux.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/wire/channel/agent_command.h"
#include "launcher/wire/uplink/uplink_hub.h"
#include "launcher/wire/uplink/uplink_order.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AT_ONCE = 32, /* commands that are started in one turn of the loop */
};

/* One command, which starts the agents of some hosts. */
struct start {
    struct hub_starter *starter;
    struct agent_command command;
    struct stream_child child;
    struct bufferevent *input; /* to its stdin; what it says to stdout is dropped */
    struct event *on_errors, *on_exit;
    int process; /* a pidfd */
    struct last_words words;
    LIST_ENTRY(start) entry;
};

struct hub_starter {
    struct event_base *base;
    struct hub_starter_config config;
    uint8_t key[AUTH_SECRET];
    struct uplink_hub *hub; /* NULL: nothing is reported any more */
    struct start **of;      /* by host: the last one that was to start its agent */
    bool *is_wanted, *has_come;
    struct event *soon;
    LIST_HEAD(start_list, start) starts;
};

/* --- one command ------------------------------------------------------------------------------ */

static void start_free(struct start *t)
{
    struct hub_starter *s = t->starter;

    for (int i = 0; i < s->config.count; i++)
        if (s->of[i] == t)
            s->of[i] = NULL;
    LIST_REMOVE(t, entry);
    if (t->input)
        bufferevent_free(t->input);
    if (t->on_errors)
        event_free(t->on_errors);
    if (t->on_exit)
        event_free(t->on_exit);
    if (t->process >= 0)
        close(t->process);
    if (t->child.pid) {
        stream_child_end(&t->child);
    } else {
        if (t->child.fd >= 0)
            close(t->child.fd);
        if (t->child.errors >= 0)
            close(t->child.errors);
    }
    agent_command_clear(&t->command);
    free(t);
}

static void on_errors(evutil_socket_t fd, short what, void *arg)
{
    struct start *t = arg;

    (void)what;
    if (!last_words_read(&t->words, fd))
        event_del(t->on_errors);
}

static void on_exit_of(evutil_socket_t fd, short what, void *arg)
{
    struct start *t = arg;
    struct hub_starter *s = t->starter;
    char text[512];
    int status = 0;

    (void)fd, (void)what;
    while (waitpid(t->child.pid, &status, 0) < 0 && errno == EINTR)
        ;
    t->child.pid = 0;
    last_words_read(&t->words, t->child.errors);
    agent_command_describe(&t->command, status, false, &t->words, text, sizeof(text));
    for (int i = 0; i < s->config.count; i++) {
        if (s->of[i] != t)
            continue;
        s->of[i] = NULL;
        if (s->hub)
            uplink_hub_give_up(s->hub, i, text);
    }
    start_free(t);
}

static void on_output(struct bufferevent *b, void *arg)
{
    char bytes[1024];

    (void)arg;
    while (bufferevent_read(b, bytes, sizeof(bytes)) > 0)
        ;
}

static int start_watch(struct start *t, struct event_base *base, struct fault *why)
{
    t->process = pidfd_linux_open(t->child.pid);
    if (t->process < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open a channel");
    t->input = bufferevent_socket_new(base, t->child.fd, 0);
    t->on_errors = event_new(base, t->child.errors, EV_READ | EV_PERSIST, on_errors, t);
    t->on_exit = event_new(base, t->process, EV_READ, on_exit_of, t);
    if (!t->input || !t->on_errors || !t->on_exit || event_add(t->on_errors, NULL) ||
        event_add(t->on_exit, NULL))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    bufferevent_setcb(t->input, on_output, NULL, NULL, NULL);
    bufferevent_enable(t->input, EV_READ | EV_WRITE);
    return 0;
}

/* What the agents of these hosts have to know. */
static int order_send(struct start *t, const struct host *const *hosts, int count,
                      struct fault *why)
{
    const struct hub_starter_config *c = &t->starter->config;
    struct uplink_order order = {.port = c->port, .limit_ms = c->limit_ms, .hosts = c->count};
    json_t *nodes = json_array();
    char *text;
    int rc;

    for (int i = 0; i < count; i++)
        json_array_append_new(nodes,
                              json_pack("[s, i]", hosts[i]->node ? hosts[i]->node : hosts[i]->name,
                                        hosts[i]->join_index));
    memcpy(order.key, t->starter->key, sizeof(order.key));
    rc = uplink_order_write(&text, c->ip, &order, nodes, why);
    sodium_memzero(&order, sizeof(order));
    if (rc)
        return rc;
    if (bufferevent_write(t->input, text, strlen(text)))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    sodium_memzero(text, strlen(text));
    free(text);
    return rc;
}

static int start_begin(struct start *t, const struct host *const *hosts, int count,
                       struct fault *why)
{
    struct hub_starter *s = t->starter;
    int rc = agent_command_make(&t->command, hosts, count, &s->config.channel, "--join", why);

    if (!rc)
        rc = stream_child_start(&t->child, t->command.argv,
                                t->command.environment ? t->command.environment : environ, true,
                                why);
    if (rc)
        return rc;
    agent_command_log(&t->command, (int)t->child.pid);
    rc = start_watch(t, s->base, why);
    return rc ? rc : order_send(t, hosts, count, why);
}

/* Failures are reported as the hosts'. */
static void start_hosts(struct hub_starter *s, const struct host *const *hosts, int count)
{
    struct start *t = calloc(1, sizeof(*t));
    struct fault why;
    int rc = t ? 0 : fault_set(&why, ML_ERR_MEMORY, "out of memory");

    if (!rc) {
        *t = (struct start){.starter = s, .process = -1, .child = {.fd = -1, .errors = -1}};
        LIST_INSERT_HEAD(&s->starts, t, entry);
        rc = start_begin(t, hosts, count, &why);
    }
    for (int i = 0; i < count; i++) {
        int index = hosts[i]->join_index;

        s->of[index] = rc ? NULL : t;
        s->has_come[index] = false;
        if (rc && s->hub)
            uplink_hub_give_up(s->hub, index, why.text);
    }
    if (rc && t)
        start_free(t);
}

/* --- which hosts ------------------------------------------------------------------------------ */

/* Wanted hosts of srun that one step takes: this machine gets more of the environment than others,
 * and a step is within a component of the job. False: none is wanted any more. */
static bool srun_start(struct hub_starter *s, const struct host **hosts)
{
    int count = 0;

    for (int i = 0; i < s->config.count; i++) {
        const struct host *h = &s->config.hosts[i];

        if (!s->is_wanted[i] || h->launch_method != LAUNCH_METHOD_SRUN)
            continue;
        if (count && (h->is_local != hosts[0]->is_local || h->component != hosts[0]->component))
            continue;
        s->is_wanted[i] = false;
        hosts[count++] = h;
    }
    if (count)
        start_hosts(s, hosts, count);
    return count > 0;
}

/* Some thousand commands take half a minute. Meanwhile the hosts that were first are let in, and
 * their agents hear from this side. */
static void on_soon(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval now;
    struct hub_starter *s = arg;
    const struct host **hosts = calloc((size_t)s->config.count, sizeof(*hosts));
    int started = 0;

    (void)fd, (void)what;
    while (hosts && srun_start(s, hosts))
        continue;
    for (int i = 0; hosts && i < s->config.count; i++) {
        if (!s->is_wanted[i])
            continue;
        if (started++ == AT_ONCE) {
            event_add(s->soon, &now);
            break;
        }
        s->is_wanted[i] = false;
        hosts[0] = &s->config.hosts[i];
        start_hosts(s, hosts, 1);
    }
    free(hosts);
}

void hub_starter_want(struct hub_starter *s, int index)
{
    static const struct timeval now;

    if (s->of[index] && !s->has_come[index])
        return; /* on its way */
    s->is_wanted[index] = true;
    event_add(s->soon, &now);
}

void hub_starter_came(struct hub_starter *s, int index)
{
    s->has_come[index] = true;
}

void hub_starter_report_to(struct hub_starter *s, struct uplink_hub *hub)
{
    s->hub = hub;
}

int hub_starter_open(struct hub_starter **out, struct event_base *base,
                     const struct hub_starter_config *config, struct fault *why)
{
    struct hub_starter *s = calloc(1, sizeof(*s));
    size_t count = (size_t)config->count;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->base = base;
    s->config = *config;
    s->config.key = NULL;
    memcpy(s->key, config->key, sizeof(s->key));
    LIST_INIT(&s->starts);
    s->of = calloc(count, sizeof(*s->of));
    s->is_wanted = calloc(count, sizeof(*s->is_wanted));
    s->has_come = calloc(count, sizeof(*s->has_come));
    s->soon = evtimer_new(base, on_soon, s);
    if (!s->of || !s->is_wanted || !s->has_come || !s->soon) {
        hub_starter_close(s);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = s;
    return 0;
}

static void on_farewell_over(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    *(bool *)arg = true;
}

/* The agents end with the hub, or if they still call it with their input, and the commands after
 * them. */
static void farewell(struct hub_starter *s)
{
    static const struct timeval limit = FAILURE_TIMEVAL(FAREWELL_MS);
    bool is_over = false;
    struct event *timer = evtimer_new(s->base, on_farewell_over, &is_over);

    for (struct start *t = LIST_FIRST(&s->starts); t; t = LIST_NEXT(t, entry))
        shutdown(t->child.fd, SHUT_WR);
    if (!timer || event_add(timer, &limit))
        is_over = true;
    while (!is_over && !LIST_EMPTY(&s->starts))
        event_base_loop(s->base, EVLOOP_ONCE);
    if (timer)
        event_free(timer);
}

void hub_starter_close(struct hub_starter *s)
{
    if (!s)
        return;
    s->hub = NULL;
    if (!LIST_EMPTY(&s->starts))
        farewell(s);
    for (struct start *t = LIST_FIRST(&s->starts), *next; t; t = next) {
        next = LIST_NEXT(t, entry);
        start_free(t);
    }
    if (s->soon)
        event_free(s->soon);
    sodium_memzero(s->key, sizeof(s->key));
    free(s->of);
    free(s->is_wanted);
    free(s->has_come);
    free(s);
}
