/* SPDX-License-Identifier: MIT */
#include "launcher/agent/worker.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/signal_text.h"
#include "common/text/text_json.h"
#include "launcher/agent/agent_frames.h"
#include "launcher/agent/agent_run.h"
#include "launcher/agent/binding/binding.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/job_finish.h"
#include "launcher/agent/job_prepare.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/ranks_stop.h"
#include "launcher/agent/run/reap.h"
#include "launcher/base/process/signal_sender.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STATUS_LOST = 1,
    TOUCH_MS = 3600 * 1000, /* tidy systems remove what is some days old */
};

/* The ranks of a job that outlives hosts may have been replaced while this process was stopped. */
static void late_return_check(struct agent *a, enum late_return_event event)
{
    struct late_return *late = &a->launcher.late;
    const int64_t now = late_return_now();

    if (a->run.state != AGENT_IS_RUNNING || !a->run.job->options.elastic || a->launcher.is_paused) {
        *late = (struct late_return){.looked_ms = now};
        return;
    }
    switch (late_return_look(late, event, now)) {
    case LATE_RETURN_HOLD:
        ranks_stop_signal_all(a, SIGSTOP);
        job_report_note(a, "warn",
                        "its agent was stopped, or its machine slept: its ranks are held until "
                        "mlaunch is heard");
        break;
    case LATE_RETURN_GO_ON:
        ranks_stop_signal_all(a, SIGCONT);
        break;
    case LATE_RETURN_END:
        ranks_stop_hurry(a);
        if (event != LATE_RETURN_CHANNEL_END)
            frame_stream_fail(a->launcher.channel,
                              "this agent was stopped for so long that mlaunch has given it up");
        break;
    case LATE_RETURN_NOTHING:
        break;
    }
}

static void on_frame(const struct frame *f, void *arg)
{
    late_return_check(arg, LATE_RETURN_FRAME);
    agent_frames_on_frame(f, arg);
}

/* Ends everything quickly: there is nobody to report to. */
static void on_channel_end(const char *why, void *arg)
{
    struct agent *a = arg;

    late_return_check(a, LATE_RETURN_CHANNEL_END);
    if (why)
        log_warn("%s", why); /* the launcher repeats it, if it is there */
    else
        log_info("the launcher closed the channel");
    if (a->run.state == AGENT_HAS_SAID_HELLO || a->run.state == AGENT_IS_DONE) {
        event_base_loopbreak(a->base);
        return;
    }
    a->exit_status = STATUS_LOST;
    rank_output_abandon(a);
    if (a->run.in_epilog)
        return;
    ranks_stop_begin(a, SIGTERM, ORPHANS_GRACE_MS);
}

static void on_written(void *arg)
{
    struct agent *a = arg;

    if (a->run.is_refused ? a->run.state != AGENT_IS_DONE : job_finish_is_over(a))
        event_base_loopbreak(a->base);
    else if (!a->run.is_refused)
        rank_output_on_written(a);
    if (rank_record_is_open(&a->run.report.record))
        agent_check_soon(a);
}

static void guard_lose(struct agent *a)
{
    char text[512];

    event_del(a->guard_event);
    close(a->guard_fd);
    a->guard_fd = -1;
    a->exit_status = STATUS_LOST;
    snprintf(text, sizeof(text),
             "the agent's guard process (pid %d) on host %s was killed; its ranks are ended",
             (int)a->guard, a->run.job ? a->run.job->host_name : "(unknown)");
    job_report_lost(a, text);
    if (a->run.state == AGENT_HAS_SAID_HELLO || a->run.state == AGENT_IS_DONE)
        event_base_loopbreak(a->base);
    else
        ranks_stop_begin(a, SIGTERM, ORPHANS_GRACE_MS);
}

static void on_child(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    (void)fd, (void)what;
    reap_all(a);
    agent_check_soon(a);
}

/* True if `mlaunch kill` has left a note in the job directory, which it does before it sends
 * SIGTERM. `text` then says by whom. */
static bool is_killed_by_user(const struct agent *a, char *text, size_t size)
{
    char path[JOB_DIRECTORY_PATH + 64], who[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/" JOB_DIRECTORY_KILLED, a->directory.path);
    f = a->directory.path[0] ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    if (!fgets(who, sizeof(who), f))
        who[0] = '\0';
    fclose(f);
    snprintf(text, size, "the job was ended with mlaunch kill %s", who);
    return true;
}

static bool is_running(const struct agent *a)
{
    return a->run.state == AGENT_IS_READY || a->run.state == AGENT_IS_RUNNING;
}

/* The same, when mlaunch does not know of it. */
static void on_asked(struct agent *a, const char *text)
{
    if (!is_running(a) || a->run.stop.is_active)
        return;
    ranks_stop_ask(a);
    frame_stream_send_json(a->launcher.channel, AGENT_ASKED,
                           json_pack("{so}", "text", text_json(text)));
}

static void on_warning(evutil_socket_t signal, short what, void *arg)
{
    struct agent *a = arg;
    const struct passwd *user = getpwuid(geteuid());
    char host[256] = "", text[320];

    (void)what;
    gethostname(host, sizeof(host) - 1);
    if (signal_sender_last((int)signal)->asks_stop)
        snprintf(text, sizeof(text), "asked to stop with mlaunch kill --soft by %.40s on host %s",
                 user ? user->pw_name : "its user", host);
    else if (a->run.job && a->run.job->options.stop_signal == (int)signal)
        snprintf(text, sizeof(text), "asked to stop by SIG%s to the agent on host %s",
                 signal_text_name((int)signal), host);
    else
        return;
    on_asked(a, text);
}

/* This host of an elastic job leaves it. */
static void job_leave(struct agent *a)
{
    if (a->run.is_leaving)
        return;
    a->run.is_leaving = true;
    a->exit_status = AGENT_EXIT_HAS_LEFT;
    job_report_leaving(a, "it was asked to leave by SIGTERM to its mlaunch join");
    ranks_stop_begin(a, SIGTERM, a->run.job->options.grace_ms);
}

/* SIGTERM to this process or to the guard. */
static void terminate(struct agent *a, bool is_slurm)
{
    char text[320] = "Slurm has ended the job (scancel or its time limit)";
    bool is_user = is_killed_by_user(a, text, sizeof(text));

    if (!is_slurm && !is_user && a->run.job && getenv("MLAUNCH_HEAD")) {
        if (is_running(a) && a->run.job->options.elastic) {
            job_leave(a);
            return;
        }
        snprintf(text, sizeof(text), "the job was ended by SIGTERM to mlaunch join on host %.200s",
                 a->run.job->host_name);
        is_user = true;
    }
    if (a->run.job && is_running(a) && !is_user && a->run.job->options.stop_signal == SIGTERM &&
        !a->run.stop.is_asked) {
        on_asked(a, "asked to stop by SIGTERM to an agent");
        return;
    }
    if (is_slurm || is_user)
        frame_stream_send_json(
            a->launcher.channel, AGENT_KILLED,
            json_pack("{so sb}", "text", text_json(text), "by_slurm", (int)(is_slurm && !is_user)));
    else
        job_report_lost(a, "the agent received SIGTERM");
    if (!a->run.job || a->run.state == AGENT_HAS_SAID_HELLO || a->run.state == AGENT_IS_DONE)
        event_base_loopbreak(a->base);
    else if (is_slurm)
        ranks_stop_begin_slurm(a, a->run.job->options.grace_ms);
    else
        ranks_stop_begin(a, SIGTERM, is_user ? a->run.job->options.grace_ms : ORPHANS_GRACE_MS);
}

static void on_term(evutil_socket_t fd, short what, void *arg)
{
    bool is_slurm = signal_sender_is_slurm(signal_sender_last(SIGTERM));
    struct agent *a = arg;

    (void)fd, (void)what;
    if (is_slurm)
        ranks_stop_on_slurm(a);
    terminate(a, is_slurm && getenv("SLURM_JOB_ID"));
}

/* The guard has got SIGTERM, in a step of Slurm's from Slurm, or has ended. */
static void on_guard(evutil_socket_t fd, short what, void *arg)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

    (void)what;
    if (n > 0)
        terminate(arg, getenv("SLURM_JOB_ID") != NULL);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        guard_lose(arg);
}

/* Moves the channel to descriptors of its own, so that no library that prints and no rank can write
 * to it. */
static int channel_take(struct agent *a, struct fault *why)
{
    struct frame_stream_events events = {on_frame, on_channel_end, on_written, a};
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int rc;

    if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return fault_set(why, ML_ERR_SYSTEM, "standard input and output are not open");
    close(null);
    rc = frame_stream_open(&a->launcher.channel, a->base, in, out, &events, why);
    return rc;
}

/* Where --threads has a say, the user knows of them. */
static void threads_watch(struct agent *a)
{
    int running = a->run.ranks.spawned - a->run.ranks.ended;
    cpu_set_t cpus;

    if (a->run.state != AGENT_IS_RUNNING || a->run.job->options.binding.threads ||
        a->launcher.is_paused || sched_getaffinity(0, sizeof(cpus), &cpus))
        return;
    if (a->run.place.bindings && a->run.place.bindings[0].is_bound)
        CPU_ZERO(&cpus);
    for (int i = 0; a->run.place.bindings && i < a->run.job->rank_count; i++)
        CPU_OR(&cpus, &cpus, &a->run.place.bindings[i].cpus);
    crowding_tick(&a->run.report.crowding, running, CPU_COUNT(&cpus));
}

/* Ends the channel to a launcher that has sent nothing for AGENT_SILENCE_MS, unless it has
 * announced a pause, or never sent anything: then it may have been stopped before it read HELLO. It
 * counts ticks instead of time: a machine or an agent that was stopped for a minute has received
 * nothing during it. */
static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    char text[160];

    (void)fd, (void)what;
    late_return_check(a, LATE_RETURN_TICK);
    threads_watch(a);
    if (a->directory.locks[0] >= 0 && !a->directory.is_guard_removing &&
        clock_ms() - a->directory.touched_ms >= TOUCH_MS)
        job_place_touch(a);
    if (frame_stream_frames(a->launcher.channel) > 0 || a->launcher.is_paused ||
        !a->launcher.is_heard) {
        a->launcher.silent_ticks = 0;
    } else if (++a->launcher.silent_ticks * AGENT_TICK_MS >= AGENT_SILENCE_MS) {
        snprintf(text, sizeof(text),
                 "mlaunch has been silent for %g s, so the ranks are ended: it was stopped or "
                 "lost, or its machine has no time for it",
                 FAILURE_SECONDS(AGENT_SILENCE_MS));
        frame_stream_fail(a->launcher.channel, text);
    }
}

/* What the worker waits for besides the channel: the ends of children and of the guard, SIGTERM,
 * and a tick by which a launcher that has gone silent is noticed. */
static int events_open(struct agent *a, struct fault *why)
{
    static const struct timeval tick = FAILURE_TIMEVAL(AGENT_TICK_MS);
    const struct {
        struct event **event;
        evutil_socket_t fd;
        short what;
        event_callback_fn callback;
        const struct timeval *timeout;
        const char *name;
    } events[] = {
        {&a->child_event, SIGCHLD, EV_SIGNAL | EV_PERSIST, on_child, NULL, "ends of processes"},
        {&a->term_event, SIGTERM, EV_SIGNAL | EV_PERSIST, on_term, NULL, "SIGTERM"},
        {&a->warn_events[0], SIGUSR1, EV_SIGNAL | EV_PERSIST, on_warning, NULL, "SIGUSR1"},
        {&a->warn_events[1], SIGUSR2, EV_SIGNAL | EV_PERSIST, on_warning, NULL, "SIGUSR2"},
        {&a->guard_event, a->guard_fd, EV_READ | EV_PERSIST, on_guard, NULL, "the agent's guard"},
        {&a->tick_event, -1, EV_PERSIST, on_tick, &tick, "a silent launcher"},
    };
    int rc;

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        *events[i].event = event_new(a->base, events[i].fd, events[i].what, events[i].callback, a);
        if (!*events[i].event || event_add(*events[i].event, events[i].timeout))
            return fault_set(why, ML_ERR_SYSTEM, "cannot watch for %s", events[i].name);
    }
    signal_sender_watch(SIGTERM);
    signal_sender_watch(SIGUSR1);
    signal_sender_watch(SIGUSR2);
    rc = job_finish_open(a, why);
    return rc ? rc : ranks_stop_open(a, why);
}

static void worker_close(struct agent *a)
{
    struct event *events[] = {a->child_event, a->term_event, a->guard_event,    a->tick_event,
                              a->check_event, a->stop_timer, a->warn_events[0], a->warn_events[1]};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i])
            event_free(events[i]);
    }
    agent_run_close(a);
    job_place_remove(a);
    frame_stream_close(a->launcher.channel);
    if (a->base)
        event_base_free(a->base);
    if (a->guard_fd >= 0)
        close(a->guard_fd);
}

int worker_run(int guard_fd, pid_t guard)
{
    struct agent a = {
        .guard_fd = guard_fd, .guard = guard, .directory.locks = JOB_DIRECTORY_UNLOCKED};
    struct fault why = {0};
    int rc;

    agent_run_open(&a);
    spawn_prepare(&a.limits);
    frame_stream_keep_memory();
    a.base = event_base_new();
    rc = a.base ? channel_take(&a, &why) : fault_set(&why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = events_open(&a, &why);
    if (!rc) {
        agent_frames_say_hello(&a);
        frame_stream_flush(a.launcher.channel);
        job_place_find_ahead(&a);
        /* A loop that begins forgets that it was to end. */
        if (!frame_stream_has_ended(a.launcher.channel))
            event_base_dispatch(a.base);
    } else {
        log_error("%s", why.text);
        a.exit_status = STATUS_OURS;
    }
    worker_close(&a);
    return a.exit_status;
}
