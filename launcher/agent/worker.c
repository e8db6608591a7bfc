/* SPDX-License-Identifier: MIT */
#include "launcher/agent/worker.h"

#include "common/build_id.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/agent/accept.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/answer/answer.h"
#include "launcher/agent/done.h"
#include "launcher/agent/guard.h"
#include "launcher/agent/heartbeat.h"
#include "launcher/agent/host/own_address.h"
#include "launcher/agent/reap.h"
#include "launcher/agent/report.h"
#include "launcher/agent/start.h"
#include "launcher/protocol/agent_protocol.h"

#include <event2/event.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    LOST_GRACE_MS = 1000, /* without a launcher or a guard: from SIGTERM to SIGKILL */
    STATUS_LOST = 1,
};

/* Nobody is there to report to: everything is ended, quickly. */
static void on_channel_end(const char *why, void *arg)
{
    struct agent *a = arg;

    log_info("%s", why ? why : "the launcher closed the channel");
    if (a->state == AGENT_HAS_SAID_HELLO || a->state == AGENT_IS_DONE) {
        event_base_loopbreak(a->base);
        return;
    }
    a->exit_status = STATUS_LOST;
    output_abandon(a);
    stop_start(a, SIGTERM, LOST_GRACE_MS);
}

static void on_written(void *arg)
{
    struct agent *a = arg;

    if (a->is_refused)
        event_base_loopbreak(a->base);
    else
        output_on_written(a);
}

/* The guard says nothing: what comes is its end. */
static void on_guard_end(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    char text[512];

    (void)what;
    event_del(a->guard_event);
    close(fd);
    a->guard_fd = -1;
    a->exit_status = STATUS_LOST;
    snprintf(text, sizeof(text),
             "the agent's guard process (pid %d) on host %s was killed; its ranks are ended",
             (int)a->guard, a->job ? a->job->host_name : "(not told yet)");
    report_lost(a, text);
    if (a->state == AGENT_HAS_SAID_HELLO || a->state == AGENT_IS_DONE)
        event_base_loopbreak(a->base);
    else
        stop_start(a, SIGTERM, LOST_GRACE_MS);
}

static void on_child(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    (void)fd, (void)what;
    reap_all(a);
    agent_check_soon(a);
}

/* `mlaunch kill` says in the job directory that it is about to ask. */
static bool is_killed_by_user(const struct agent *a, char *text, size_t size)
{
    char path[JOB_DIRECTORY_PATH + 64], who[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/" JOB_DIRECTORY_KILLED, a->dir);
    f = a->dir[0] ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    if (!fgets(who, sizeof(who), f))
        who[0] = '\0';
    fclose(f);
    snprintf(text, size, "the job was ended with mlaunch kill %s", who);
    return true;
}

static void on_term(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    int grace_ms = LOST_GRACE_MS;
    char text[320];

    (void)fd, (void)what;
    if (is_killed_by_user(a, text, sizeof(text))) {
        grace_ms = a->job->grace_ms;
        stream_send_json(a->stream, AGENT_KILLED, json_pack("{ss}", "text", text));
    } else {
        report_lost(a,
                    getenv("SLURM_STEP_ID")
                        ? "the agent was told to end by SIGTERM: by scancel or Slurm's time limit"
                        : "the agent was told to end by SIGTERM");
    }
    if (a->state == AGENT_HAS_SAID_HELLO || a->state == AGENT_IS_DONE)
        event_base_loopbreak(a->base);
    else
        stop_start(a, SIGTERM, grace_ms);
}

static uint32_t u32_read(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void on_job(struct agent *a, const struct frame *f)
{
    wires_close(&a->wires);
    job_accept(a, (const char *)f->payload, f->size);
}

static void on_query(struct agent *a, const struct frame *f)
{
    stream_send_json(a->stream, AGENT_ANSWER,
                     query_answer((const char *)f->payload, f->size, &a->wires));
}

static void on_start(struct agent *a, const struct frame *f)
{
    job_start(a, (const char *)f->payload, f->size);
}

static void on_stdin(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload);

    for (int i = 0; i < a->job->rank_count; i++) {
        if ((uint32_t)a->ranks[i].job->rank == rank) {
            if (input_take(&a->ranks[i], f->payload + 4, f->size - 4))
                stream_fail(a->stream, "the launcher sent more input than it may");
            return;
        }
    }
}

static void on_credit(struct agent *a, const struct frame *f)
{
    output_acknowledge(a, u32_read(f->payload));
}

static void on_signal(struct agent *a, const struct frame *f)
{
    uint32_t signal = u32_read(f->payload);

    if (signal > 0 && signal < NSIG)
        stop_signal_ranks(a, (int)signal);
}

static void on_stop(struct agent *a, const struct frame *f)
{
    uint32_t signal = u32_read(f->payload), grace_ms = u32_read(f->payload + 4);

    a->is_paused = false;
    stop_start(a, signal > 0 && signal < NSIG ? (int)signal : SIGTERM,
               grace_ms > INT32_MAX ? INT32_MAX : (int)grace_ms);
}

static void on_kill(struct agent *a, const struct frame *f)
{
    (void)f;
    a->is_paused = false;
    stop_hurry(a);
}

static void on_pause(struct agent *a, const struct frame *f)
{
    (void)f;
    a->is_paused = true;
    stop_signal_all(a, SIGSTOP);
}

static void on_resume(struct agent *a, const struct frame *f)
{
    (void)f;
    a->is_paused = false;
    stop_signal_all(a, SIGCONT);
    job_start_resume(a);
}

static void on_ping(struct agent *a, const struct frame *f)
{
    (void)f;
    stream_send(a->stream, AGENT_PONG, NULL, 0);
}

static void on_bye(struct agent *a, const struct frame *f)
{
    (void)f;
    event_base_loopbreak(a->base);
}

/* What may come when, and how long it is at least. What comes too late (after DONE) is not wrong:
 * the launcher could not know yet. */
static const struct dispatch {
    uint8_t type;
    enum agent_state first, last;
    uint32_t min_size;
    void (*handle)(struct agent *a, const struct frame *f);
} dispatch[] = {
    {LAUNCH_JOB, AGENT_HAS_SAID_HELLO, AGENT_HAS_SAID_HELLO, 2, on_job},
    {LAUNCH_QUERY, AGENT_HAS_SAID_HELLO, AGENT_HAS_SAID_HELLO, 2, on_query},
    {LAUNCH_START, AGENT_IS_READY, AGENT_IS_READY, 2, on_start},
    {LAUNCH_STDIN, AGENT_IS_READY, AGENT_IS_RUNNING, 4, on_stdin},
    {LAUNCH_CREDIT, AGENT_IS_READY, AGENT_IS_RUNNING, 4, on_credit},
    {LAUNCH_SIGNAL, AGENT_IS_READY, AGENT_IS_RUNNING, 4, on_signal},
    {LAUNCH_STOP, AGENT_IS_READY, AGENT_IS_RUNNING, 8, on_stop},
    {LAUNCH_KILL, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_kill},
    {LAUNCH_PAUSE, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_pause},
    {LAUNCH_RESUME, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_resume},
    {LAUNCH_PING, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_ping},
    {LAUNCH_BYE, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_bye},
};

static void on_frame(const struct frame *f, void *arg)
{
    struct agent *a = arg;

    if (a->is_refused)
        return;
    for (size_t i = 0; i < sizeof(dispatch) / sizeof(dispatch[0]); i++) {
        const struct dispatch *d = &dispatch[i];

        if (d->type != f->type)
            continue;
        if (f->size < d->min_size || a->state < d->first)
            break;
        if (a->state <= d->last)
            d->handle(a, f);
        return;
    }
    stream_fail(a->stream, "the launcher sent a frame that makes no sense here");
}

static void hello_send(struct agent *a)
{
    char address[ADDRESS_TEXT], guess[ADDRESS_TEXT], host[256] = "";
    struct utsname system;
    cpu_set_t cpus;

    own_address_of_ssh(address);
    own_address_guess(guess);
    gethostname(host, sizeof(host) - 1);
    uname(&system);
    if (sched_getaffinity(0, sizeof(cpus), &cpus))
        CPU_ZERO(&cpus);
    stream_send_json(a->stream, AGENT_HELLO,
                     json_pack("{ss ss ss si ss ss si}", "build", build_id, "arch", system.machine,
                               "host", host, "pid", (int)getpid(), "address", address, "guess",
                               guess, "cpus", CPU_COUNT(&cpus)));
}

/* The channel goes to descriptors of its own, so that no library that prints, and no rank, meets
 * it. */
static int channel_take(struct agent *a, struct fault *why)
{
    struct stream_events events = {on_frame, on_channel_end, on_written, a};
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int rc;

    if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return fault_set(why, ML_ERR_SYSTEM, "standard input and output are not there");
    close(null);
    rc = stream_open(&a->stream, a->base, in, out, &events, why);
    return rc;
}

static int events_open(struct agent *a, struct fault *why)
{
    a->child_event = evsignal_new(a->base, SIGCHLD, on_child, a);
    a->term_event = evsignal_new(a->base, SIGTERM, on_term, a);
    a->guard_event = event_new(a->base, a->guard_fd, EV_READ, on_guard_end, a);
    if (!a->child_event || !a->term_event || !a->guard_event || done_open(a) || stop_open(a) ||
        heartbeat_open(a) || event_add(a->child_event, NULL) || event_add(a->term_event, NULL) ||
        event_add(a->guard_event, NULL))
        return fault_set(why, ML_ERR_SYSTEM, "cannot watch children and signals");
    return 0;
}

static void worker_close(struct agent *a)
{
    struct event *events[] = {a->child_event, a->term_event,      a->guard_event,
                              a->spawn_event, a->heartbeat_event, a->check_event};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i])
            event_free(events[i]);
    }
    stop_close(a);
    wires_close(&a->wires);
    job_release(a);
    stream_close(a->stream);
    if (a->base)
        event_base_free(a->base);
    if (a->guard_fd >= 0)
        close(a->guard_fd);
}

int worker_run(int guard_fd, pid_t guard)
{
    struct agent a = {.guard_fd = guard_fd, .guard = guard, .cgroup_fd = -1};
    struct fault why = {0};
    int rc;

    spawn_prepare(&a.limits);
    stream_keep_memory();
    a.base = event_base_new();
    rc = a.base ? channel_take(&a, &why) : fault_set(&why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = events_open(&a, &why);
    if (!rc) {
        hello_send(&a);
        event_base_dispatch(a.base);
    } else {
        log_error("%s", why.text);
        a.exit_status = STATUS_OURS;
    }
    worker_close(&a);
    return a.exit_status;
}
