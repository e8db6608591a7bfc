/* SPDX-License-Identifier: MIT */
#include "launcher/wire/join/join_node.h"

#include "common/build_id.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/address.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "common/text/signal_text.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/process/last_words.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/wire/join/join_branch.h"
#include "launcher/wire/protocol/agent_end.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"
#include "launcher/wire/uplink/uplink_address.h"
#include "launcher/wire/uplink/uplink_order.h"
#include "launcher/wire/uplink/uplink_pump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AGENTS_MOST = 64, /* that have not ended yet: one of each try of the job */
};

/* Those but the first may be ignored, as by nohup; then they stay so. */
enum { END_SIGNALS = 3 };
static const int end_signals[END_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

/*
 *     CALLING ──ADMITTED──▶ JOINED ──STATUS, or the uplink's end──▶ LEAVING ──no agent──▶ exit
 *      ▲    │
 *      └─GO─┘ another host, which is above this one in the tree of --fanout
 *
 * An agent's channel is open from OPEN to CLOSE. The agent then ends by itself, maybe after the
 * next one has been started.
 */
struct join_node {
    struct uplink_call call;
    char host[UPLINK_HOST]; /* the name of the one above, if that is not the head */
    bool is_below;          /* it is not */
    bool is_sent;           /* it is to be called now */
    const char *agent;
    struct event_base *base;
    struct uplink_stream *stream;
    char ip[ADDRESS_TEXT];      /* this host's end of that */
    struct join_branch *branch; /* NULL: no host is below this one */
    int unheard;                /* how often the one above should have been heard, and was not */
    struct uplink_pump *pump;   /* NULL: no channel is open */
    pid_t current;              /* its agent; 0: none, or it has ended */
    int ended_status;           /* how that has ended, as waitpid gives it */
    bool has_output_ended;      /* it has closed its side */
    int errors;                 /* its stderr, or -1 */
    struct event *on_errors;
    struct last_words words; /* what it has said there */
    pid_t agents[AGENTS_MOST];
    int agent_count;
    bool is_joined, has_status, is_leaving;
    int status;
    struct event *child, *late, *sweep, *tick, *ends[END_SIGNALS], *stop;
};

static const char *above_name(const struct join_node *n)
{
    return n->is_below ? "host above this one" : "head";
}

/* --- agents ----------------------------------------------------------------------------------- */

static void end_check(struct join_node *n)
{
    if (n->is_leaving && n->agent_count == 0 && (!n->branch || join_branch_is_empty(n->branch)))
        event_base_loopbreak(n->base);
}

static void errors_close(struct join_node *n)
{
    if (n->on_errors)
        event_free(n->on_errors);
    if (n->errors >= 0)
        close(n->errors);
    n->on_errors = NULL;
    n->errors = -1;
}

/* Shown here, and kept for the head. */
static void on_errors(evutil_socket_t fd, short what, void *arg)
{
    struct join_node *n = arg;
    char bytes[1024];
    ssize_t size = read(fd, bytes, sizeof(bytes));

    (void)what;
    if (size > 0) {
        last_words_add(&n->words, bytes, (size_t)size);
        (void)!write(STDERR_FILENO, bytes, (size_t)size);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        errors_close(n);
    }
}

/* Both its output and its process have ended: the head is told, in this order. */
static void agent_report(struct join_node *n)
{
    char text[UPLINK_TEXT], words[UPLINK_TEXT / 2];
    int status = n->ended_status;

    if (!n->pump || n->current || !n->has_output_ended)
        return;
    if (n->errors >= 0)
        on_errors(n->errors, EV_READ, n);
    last_words_line(&n->words, words, sizeof(words));
    if (WIFSIGNALED(status))
        agent_end_describe(text, sizeof(text), STATUS_SIGNAL + WTERMSIG(status),
                           signal_text_name(WTERMSIG(status)), words);
    else
        agent_end_describe(text, sizeof(text), WEXITSTATUS(status), NULL, words);
    uplink_stream_send_tagged(n->stream, UPLINK_ENDED, uplink_pump_run(n->pump), text,
                              strlen(text));
    uplink_pump_shut(n->pump);
    if (WIFEXITED(status) && WEXITSTATUS(status) == AGENT_EXIT_HAS_LEFT) {
        n->has_status = true; /* that of the signal */
        uplink_stream_finish(n->stream);
    }
}

static void on_pump_end(void *arg)
{
    struct join_node *n = arg;

    n->has_output_ended = true;
    agent_report(n);
}

static void agent_ended(struct join_node *n, pid_t pid, int status)
{
    for (int i = 0; i < n->agent_count; i++) {
        if (n->agents[i] == pid) {
            n->agents[i] = n->agents[--n->agent_count];
            break;
        }
    }
    if (pid == n->current) {
        n->current = 0;
        n->ended_status = status;
        agent_report(n);
    }
    end_check(n);
}

/* As process 1 of a container this one also gets the orphans. */
static void on_child(evutil_socket_t signal, short what, void *arg)
{
    int status;
    pid_t pid;

    (void)signal, (void)what;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        agent_ended(arg, pid, status);
}

static int agent_start(struct join_node *n, uint32_t run, struct fault *why)
{
    char *argv[] = {(char *)n->agent, (char *)"--build", (char *)build_id, NULL};
    const struct uplink_route to = {.stream = n->stream, .host = -1};
    struct stream_child child;
    int rc;

    if (n->pump || n->agent_count == AGENTS_MOST)
        return fault_set(why, ML_ERR_REFUSED, "the head asked for more agents than there may be");
    rc = stream_child_start(&child, argv, environ, true, why);
    if (rc)
        return rc;
    errors_close(n);
    n->words.size = 0;
    n->errors = child.errors;
    n->on_errors = event_new(n->base, child.errors, EV_READ | EV_PERSIST, on_errors, n);
    if (n->on_errors)
        event_add(n->on_errors, NULL);
    n->agents[n->agent_count++] = n->current = child.pid;
    n->has_output_ended = false;
    log_debug("agent %s started as pid %d", n->agent, (int)child.pid);
    rc =
        uplink_pump_open(&n->pump, n->base, &to, n->call.index, run, child.fd, on_pump_end, n, why);
    if (rc)
        close(child.fd); /* the agent ends */
    return rc;
}

/* --- frames ----------------------------------------------------------------------------------- */

static void channel_close(struct join_node *n)
{
    uplink_pump_close(n->pump); /* the agent reads end of file, and ends */
    n->pump = NULL;
    n->current = 0;
}

/* Bytes for the agents of many hosts: those below this one, and maybe its own. */
static int many_take(struct join_node *n, const struct frame *f, struct fault *why)
{
    struct uplink_many m;

    if (!uplink_many_take(&m, f, n->call.hosts))
        return fault_set(why, ML_ERR_REFUSED, "the head sent a malformed message");
    if (n->branch)
        join_branch_spread(n->branch, f, &m);
    if (!uplink_many_has(&m, n->call.index))
        return 0;
    if (!n->pump || m.run != uplink_pump_run(n->pump))
        return fault_set(why, ML_ERR_REFUSED, "the head sent a message of type %d for no agent",
                         f->type);
    return uplink_pump_take(n->pump, m.bytes, m.size, why);
}

static int run_take(struct join_node *n, const struct frame *f, struct fault *why)
{
    const uint8_t *rest;
    uint32_t word;
    size_t size;

    if (!n->is_joined || !uplink_stream_word(f, &word, &rest, &size))
        return fault_set(why, ML_ERR_REFUSED, "the head sent a message of type %d out of turn",
                         f->type);
    if (f->type == UPLINK_OPEN)
        return agent_start(n, word, why);
    if (f->type == UPLINK_MANY)
        return many_take(n, f, why);
    if (f->type == UPLINK_ROUTED && n->branch && join_branch_pass(n->branch, f))
        return 0;
    if (!n->pump || word != uplink_pump_run(n->pump))
        return fault_set(why, ML_ERR_REFUSED, "the head sent a message of type %d for no agent",
                         f->type);
    if (f->type == UPLINK_DATA)
        return uplink_pump_take(n->pump, rest, size, why);
    if (f->type == UPLINK_SHUT)
        uplink_pump_take_shut(n->pump);
    else if (f->type == UPLINK_CLOSE)
        channel_close(n);
    else
        return fault_set(why, ML_ERR_REFUSED, "the head sent a message of type %d", f->type);
    return 0;
}

static void on_left(void *arg)
{
    end_check(arg);
}

/* The head says with ADMITTED what the tree is like; without one it says nothing. */
static int branch_start(struct join_node *n, const struct frame *f, struct fault *why)
{
    struct join_branch_config config = {.index = n->call.index,
                                        .ip = n->ip,
                                        .key = n->call.key,
                                        .up = n->stream,
                                        .on_left = on_left,
                                        .arg = n};
    uint32_t words[2] = {0};
    const char *where;
    int rc;

    if (f->size != 0 && f->size != sizeof(words))
        return fault_set(why, ML_ERR_REFUSED, "the head sent a malformed message");
    if (f->size)
        memcpy(words, f->payload, sizeof(words));
    config.tree = (struct uplink_tree){(int)ntohl(words[0]), (int)ntohl(words[1]), n->call.hosts};
    if (ntohl(words[0]) > UPLINK_FANOUT_MOST || ntohl(words[1]) > (uint32_t)n->call.index)
        return fault_set(why, ML_ERR_REFUSED, "the head sent a malformed message");
    if (!uplink_tree_has_children(&config.tree, n->call.index))
        return 0;
    rc = join_branch_open(&n->branch, n->base, &config, why);
    if (rc)
        return rc;
    where = join_branch_where(n->branch);
    log_info("hosts below this one are to call %s", where);
    uplink_stream_send(n->stream, UPLINK_DOOR, where, strlen(where));
    return 0;
}

static int ends_watch(struct join_node *n, struct fault *why);

static int admitted_take(struct join_node *n, const struct frame *f, struct fault *why)
{
    char name[UPLINK_NAME] = "";
    int rc = ends_watch(n, why);

    if (!rc)
        rc = branch_start(n, f, why);
    if (rc)
        return rc;
    gethostname(name, sizeof(name) - 1);
    n->is_joined = true;
    uplink_stream_send(n->stream, UPLINK_HERE, name, strlen(name));
    log_info("joined the %s at %s:%d as host %d of %d, %s", above_name(n), n->call.host,
             n->call.port, n->call.index, n->call.hosts, name);
    return 0;
}

static void text_take(char *text, size_t size, const struct frame *f)
{
    snprintf(text, size, "%.*s", (int)(f->size < size ? f->size : size - 1),
             (const char *)f->payload);
    printable_mend(text, "");
}

static void refused_take(struct join_node *n, const struct frame *f)
{
    char text[UPLINK_TEXT];

    text_take(text, sizeof(text), f);
    log_error("the %s at %s:%d refused this host: %s", above_name(n), n->call.host, n->call.port,
              text);
    n->has_status = true;
    n->status = STATUS_OURS;
    event_active(n->sweep, EV_TIMEOUT, 0);
}

static int go_take(struct join_node *n, const struct frame *f, struct fault *why)
{
    char text[UPLINK_TEXT];

    text_take(text, sizeof(text), f);
    address_take_scope(text, n->ip);
    if (n->is_below || !uplink_address_split(text, n->host, &n->call.port) || !n->host[0])
        return fault_set(why, ML_ERR_REFUSED, "the head sent a malformed message");
    log_info("the head sends this host to the one above it, at %s", text);
    n->call.host = n->host;
    n->call.others = NULL;
    n->is_below = n->is_sent = true;
    event_base_loopbreak(n->base);
    return 0;
}

static void status_take(struct join_node *n, const struct frame *f)
{
    const uint8_t *rest;
    uint32_t word = STATUS_OURS;
    size_t size;

    uplink_stream_word(f, &word, &rest, &size);
    n->has_status = true;
    n->status = word < 256 ? (int)word : STATUS_OURS;
    event_active(n->sweep, EV_TIMEOUT, 0);
}

static int frame_take(struct join_node *n, const struct frame *f, struct fault *why)
{
    if (f->type == UPLINK_PING)
        uplink_stream_send(n->stream, UPLINK_PONG, NULL, 0);
    else if (f->type == UPLINK_ADMITTED && !n->is_joined)
        return admitted_take(n, f, why);
    else if (f->type == UPLINK_GO && !n->is_joined)
        return go_take(n, f, why);
    else if (f->type == UPLINK_REFUSED && !n->is_joined)
        refused_take(n, f);
    else if (f->type == UPLINK_STATUS)
        status_take(n, f);
    else
        return run_take(n, f, why);
    return 0;
}

static void on_frame(const struct frame *f, void *arg)
{
    struct join_node *n = arg;
    struct fault why;

    n->unheard = 0;
    if (!n->has_status && !n->is_sent && frame_take(n, f, &why))
        uplink_stream_fail(n->stream, why.text);
}

static void on_end(const char *why, void *arg)
{
    struct join_node *n = arg;

    if (n->is_sent)
        return;
    if (!n->has_status)
        log_error("the %s at %s:%d was lost: %s%s", above_name(n), n->call.host, n->call.port, why,
                  n->agent_count ? "; the ranks here are ended" : "");
    event_active(n->sweep, EV_TIMEOUT, 0);
}

/* Whoever is above sends PINGs; only the head may be silent, while it is suspended. */
static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct join_node *n = arg;
    char text[64];

    (void)fd, (void)what;
    if (!n->stream)
        return;
    if (uplink_stream_is_held(n->stream)) { /* its PINGs are not read */
        uplink_stream_send(n->stream, UPLINK_PONG, NULL, 0);
        return;
    }
    snprintf(text, sizeof(text), "nothing was heard from it for %g s",
             FAILURE_SECONDS(UPLINK_LOST_MS));
    if (n->is_below && n->unheard++ == UPLINK_PINGS_MISSED)
        uplink_stream_fail(n->stream, text);
}

static void on_room(void *arg)
{
    struct join_node *n = arg;

    if (n->pump)
        uplink_pump_resume(n->pump);
    if (n->branch)
        join_branch_resume(n->branch);
}

/* The uplink is over. What it carried is closed outside of its own callbacks. */
static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval late = FAILURE_TIMEVAL(JOIN_LEAVES_MS);
    struct join_node *n = arg;

    (void)fd, (void)what;
    if (n->is_leaving)
        return;
    n->is_leaving = true;
    channel_close(n);
    if (n->branch && n->has_status) {
        join_branch_finish(n->branch, n->status);
    } else {
        join_branch_close(n->branch); /* those below are cut off */
        n->branch = NULL;
    }
    uplink_stream_close(n->stream);
    n->stream = NULL;
    event_add(n->late, &late);
    end_check(n);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    struct join_node *n = arg;

    (void)fd, (void)what;
    log_warn("an agent has not ended within %g s", FAILURE_SECONDS(JOIN_LEAVES_MS));
    event_base_loopbreak(n->base);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* The agent reports it, and the head ends the job. Without one, or for the second time, the host
 * leaves at once, which the head notices. */
static void on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct join_node *n = arg;

    (void)what;
    if (n->current && !n->status && !n->is_leaving) {
        n->status = STATUS_SIGNAL + (int)signal;
        kill(n->current, SIGTERM);
        return;
    }
    n->has_status = true;
    n->status = STATUS_SIGNAL + (int)signal;
    event_active(n->sweep, EV_TIMEOUT, 0);
}

/* The job would lose a host that is silent. */
static void on_stop(evutil_socket_t signal, short what, void *arg)
{
    (void)signal, (void)what, (void)arg;
    log_warn("Ctrl-Z does not stop mlaunch join, as the job would lose this host; at the head it "
             "stops all ranks");
}

/* While this process calls, nothing is there that would have to be ended. As process 1 of a
 * container it would otherwise be deaf to them. */
static void on_early_signal(int signal)
{
    _exit(STATUS_SIGNAL + signal);
}

/* One that mlaunch has started ends with its connection. Slurm's signals are its agent's. */
static void signals_prepare(bool is_started)
{
    for (int i = 0; i < END_SIGNALS; i++)
        if (is_started || (signal(end_signals[i], on_early_signal) == SIG_IGN && i > 0))
            signal(end_signals[i], SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

static int events_open(struct join_node *n, struct fault *why)
{
    static const struct timeval pause = FAILURE_TIMEVAL(UPLINK_PING_MS);

    n->child = event_new(n->base, SIGCHLD, EV_SIGNAL | EV_PERSIST, on_child, n);
    n->late = evtimer_new(n->base, on_late, n);
    n->sweep = event_new(n->base, -1, 0, on_sweep, n);
    n->tick = event_new(n->base, -1, EV_PERSIST, on_tick, n);
    if (!n->child || !n->late || !n->sweep || !n->tick || event_add(n->child, NULL) ||
        event_add(n->tick, &pause))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

static int ends_watch(struct join_node *n, struct fault *why)
{
    for (int i = 0; i < END_SIGNALS; i++) {
        if (signal(end_signals[i], SIG_IGN) == SIG_IGN)
            continue;
        n->ends[i] = event_new(n->base, end_signals[i], EV_SIGNAL | EV_PERSIST, on_signal, n);
        if (!n->ends[i] || event_add(n->ends[i], NULL))
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (signal(SIGTSTP, SIG_IGN) == SIG_IGN)
        return 0;
    n->stop = event_new(n->base, SIGTSTP, EV_SIGNAL | EV_PERSIST, on_stop, n);
    if (!n->stop || event_add(n->stop, NULL))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

static void node_close(struct join_node *n)
{
    struct event *events[] = {n->child,   n->late,    n->sweep,   n->tick,
                              n->ends[0], n->ends[1], n->ends[2], n->stop};

    errors_close(n);
    uplink_pump_close(n->pump);
    join_branch_close(n->branch);
    uplink_stream_close(n->stream);
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
        if (events[i])
            event_free(events[i]);
    if (n->base)
        event_base_free(n->base);
}

/* The agent takes the address that leads to the head for its own. */
static void head_export(int fd)
{
    struct address head = {.length = sizeof(head.storage)};
    char ip[ADDRESS_TEXT];

    if (getpeername(fd, (struct sockaddr *)&head.storage, &head.length))
        return;
    address_format_ip(&head, ip);
    setenv("MLAUNCH_HEAD", ip, 1);
}

static void own_address_find(struct join_node *n, int fd)
{
    struct address own = {.length = sizeof(own.storage)};

    if (getsockname(fd, (struct sockaddr *)&own.storage, &own.length) == 0)
        address_format_ip(&own, n->ip);
}

/* Calls the head, or the host that the head has named. */
static int node_call(struct join_node *n, struct fault *why)
{
    const struct uplink_stream_events events = {on_frame, on_end, on_room, n};
    struct auth_keys keys;
    int fd, rc = uplink_call(&fd, &keys, &n->call, why);

    if (rc)
        return rc;
    if (!n->is_below && !n->call.ends_with_stdin)
        head_export(fd);
    own_address_find(n, fd);
    rc = uplink_stream_open(&n->stream, n->base, fd, &keys, &events, why);
    sodium_memzero(&keys, sizeof(keys));
    if (rc)
        close(fd);
    return rc;
}

static int node_join(struct join_node *n, struct fault *why)
{
    int rc;

    n->base = event_base_new();
    rc = n->base ? events_open(n, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = node_call(n, why);
    if (rc)
        return rc;
    event_base_dispatch(n->base);
    if (!n->is_sent)
        return 0;
    n->is_sent = false;
    uplink_stream_close(n->stream);
    n->stream = NULL;
    rc = node_call(n, why);
    if (!rc)
        event_base_dispatch(n->base);
    return rc;
}

int join_node_run(const struct uplink_call *call, const char *agent)
{
    struct join_node n = {.call = *call, .agent = agent, .errors = -1};
    char path[PATH_MAX];
    struct fault why;
    int rc = 0;

    signals_prepare(call->ends_with_stdin);
    if (!agent) {
        rc = install_path_find(path, INSTALL_AGENT, &why);
        n.agent = path;
    }
    if (!rc)
        rc = node_join(&n, &why);
    if (rc)
        log_error("%s", why.text);
    node_close(&n);
    if (rc || (!n.has_status && !n.status))
        return STATUS_OURS;
    return n.status;
}

int join_node_run_order(void)
{
    const char *srun = getenv("SLURM_LAUNCH_NODE_IPADDR");
    struct uplink_call call = {.ends_with_stdin = true};
    struct uplink_order o = {0};
    char path[PATH_MAX];
    struct fault why;
    ssize_t size;
    int status;

    if (uplink_order_read(&o, STDIN_FILENO, getenv("SLURMD_NODENAME"), &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = '\0';
    /* The address by which srun is reached from here is mlaunch's, too, if it has several. */
    call.host = srun && *srun && o.heads[1] ? srun : o.heads[0];
    call.others = (const char *const *)(call.host == srun ? o.heads : o.heads + 1);
    call.port = o.port;
    call.index = o.index;
    call.hosts = o.hosts;
    call.key = o.key;
    call.limit_ms = o.limit_ms;
    status = join_node_run(&call, path);
    uplink_order_clear(&o);
    return status;
}
