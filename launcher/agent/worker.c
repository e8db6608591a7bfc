/* SPDX-License-Identifier: MIT */
#include "launcher/agent/worker.h"

#include "common/build_id.h"
#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/address.h"
#include "common/net/host_table.h"
#include "common/status.h"
#include "common/text/parsed_json.h"
#include "common/text/signal_text.h"
#include "common/text/text_json.h"
#include "launcher/agent/children/copier_child.h"
#include "launcher/agent/children/stack_child.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/host/own_address.h"
#include "launcher/agent/host/stop_mark_file.h"
#include "launcher/agent/job_finish.h"
#include "launcher/agent/job_prepare.h"
#include "launcher/agent/queries/answer.h"
#include "launcher/agent/ranks_start.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/rank_pty.h"
#include "launcher/agent/run/ranks_stop.h"
#include "launcher/agent/run/reap.h"
#include "launcher/base/process/signal_sender.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    STATUS_LOST = 1,
    TOUCH_MS = 3600 * 1000, /* tidy systems remove what is some days old */
};

/* Ends everything quickly: there is nobody to report to. */
static void on_channel_end(const char *why, void *arg)
{
    struct agent *a = arg;

    if (why)
        log_warn("%s", why); /* the launcher repeats it, if it is there */
    else
        log_info("the launcher closed the channel");
    if (a->state == AGENT_HAS_SAID_HELLO || a->state == AGENT_IS_DONE) {
        event_base_loopbreak(a->base);
        return;
    }
    a->exit_status = STATUS_LOST;
    rank_output_abandon(a);
    if (a->in_epilog)
        return;
    ranks_stop_begin(a, SIGTERM, ORPHANS_GRACE_MS);
}

static void on_written(void *arg)
{
    struct agent *a = arg;

    if (a->is_refused ? a->state != AGENT_IS_DONE : job_finish_is_over(a))
        event_base_loopbreak(a->base);
    else if (!a->is_refused)
        rank_output_on_written(a);
    if (rank_record_is_open(&a->record))
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
             (int)a->guard, a->job ? a->job->host_name : "(unknown)");
    job_report_lost(a, text);
    if (a->state == AGENT_HAS_SAID_HELLO || a->state == AGENT_IS_DONE)
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

/* Lets the ranks know that the job has been asked to stop. */
static void ranks_ask(struct agent *a)
{
    struct fault why;

    if (!a->is_asked_to_stop && stop_mark_file_set(a->dir, &why))
        job_report_note(a, "error", why.text);
    a->is_asked_to_stop = true;
}

static bool is_running(const struct agent *a)
{
    return a->state == AGENT_IS_READY || a->state == AGENT_IS_RUNNING;
}

/* The same, when mlaunch does not know of it. */
static void on_asked(struct agent *a, const char *text)
{
    if (!is_running(a) || a->stop.is_active)
        return;
    ranks_ask(a);
    frame_stream_send_json(a->channel, AGENT_ASKED, json_pack("{so}", "text", text_json(text)));
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
    else if (a->job && a->job->options.stop_signal == (int)signal)
        snprintf(text, sizeof(text), "asked to stop by SIG%s to the agent on host %s",
                 signal_text_name((int)signal), host);
    else
        return;
    on_asked(a, text);
}

/* This host of an elastic job leaves it. */
static void job_leave(struct agent *a)
{
    if (a->is_leaving)
        return;
    a->is_leaving = true;
    a->exit_status = AGENT_EXIT_HAS_LEFT;
    job_report_leaving(a, "it was asked to leave by SIGTERM to its mlaunch join");
    ranks_stop_begin(a, SIGTERM, a->job->options.grace_ms);
}

/* SIGTERM to this process or to the guard. */
static void terminate(struct agent *a, bool is_slurm)
{
    char text[320] = "Slurm has ended the job (scancel or its time limit)";
    bool is_user = is_killed_by_user(a, text, sizeof(text));

    if (!is_slurm && !is_user && a->job && getenv("MLAUNCH_HEAD")) {
        if (is_running(a) && a->job->options.elastic) {
            job_leave(a);
            return;
        }
        snprintf(text, sizeof(text), "the job was ended by SIGTERM to mlaunch join on host %.200s",
                 a->job->host_name);
        is_user = true;
    }
    if (a->job && is_running(a) && !is_user && a->job->options.stop_signal == SIGTERM &&
        !a->is_asked_to_stop) {
        on_asked(a, "asked to stop by SIGTERM to an agent");
        return;
    }
    if (is_slurm || is_user)
        frame_stream_send_json(
            a->channel, AGENT_KILLED,
            json_pack("{so sb}", "text", text_json(text), "by_slurm", (int)(is_slurm && !is_user)));
    else
        job_report_lost(a, "the agent received SIGTERM");
    if (!a->job || a->state == AGENT_HAS_SAID_HELLO || a->state == AGENT_IS_DONE)
        event_base_loopbreak(a->base);
    else if (is_slurm)
        ranks_stop_begin_slurm(a, a->job->options.grace_ms);
    else
        ranks_stop_begin(a, SIGTERM, is_user ? a->job->options.grace_ms : ORPHANS_GRACE_MS);
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

static uint32_t u32_read(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void on_shared(struct agent *a, const struct frame *f)
{
    if (!a->shared)
        a->shared = job_spec_parse_shared((const char *)f->payload, f->size);
    else
        frame_stream_fail(a->channel, "the launcher sent a frame that is invalid now");
}

static void on_job(struct agent *a, const struct frame *f)
{
    probe_run_close(&a->probe);
    job_prepare(a, (const char *)f->payload, f->size);
    if (a->state == AGENT_IS_READY)
        ranks_start_ahead(a);
}

static void on_file(struct agent *a, const struct frame *f)
{
    job_prepare_file(a, u32_read(f->payload), f->payload + 4, f->size - 4);
}

static void on_query(struct agent *a, const struct frame *f)
{
    if (a->state == AGENT_HAS_SAID_HELLO)
        frame_stream_send_json(a->channel, AGENT_ANSWER,
                               answer_make((const char *)f->payload, f->size, &a->probe));
    else
        stack_child_ask(&a->stack_child, a->base, a->channel, f->payload, f->size);
}

static void on_copier_end(const char *text, void *arg)
{
    struct agent *a = arg;

    if (a->state == AGENT_IS_RECEIVING)
        job_prepare_fail(a, text);
    else if (!a->is_refused)
        job_report_refused(a, text);
}

/* The first order starts the program that carries them out. */
static void on_sync(struct agent *a, const struct frame *f)
{
    struct fault why;

    if (a->state == AGENT_IS_RECEIVING && !a->place)
        frame_stream_fail(a->channel, "the launcher sent files that the job does not have");
    else if (!a->copier &&
             copier_child_start(&a->copier, a->base, a->channel, on_copier_end, a, &why))
        on_copier_end(why.text, a);
    else
        copier_child_order(a->copier, f->payload, f->size);
}

static void on_staged(struct agent *a, const struct frame *f)
{
    (void)f;
    if (!a->place) {
        frame_stream_fail(a->channel, "the launcher sent files that the job does not have");
        return;
    }
    copier_child_close(a->copier);
    a->copier = NULL;
    job_prepare_staged(a);
    if (a->state == AGENT_IS_READY)
        ranks_start_ahead(a);
}

static void on_start(struct agent *a, const struct frame *f)
{
    ranks_start(a, (const char *)f->payload, f->size);
}

static void on_stdin(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload);

    for (int i = 0; i < a->job->rank_count; i++) {
        if (rank != AGENT_STDIN_ALL && rank != (uint32_t)a->ranks[i].job->rank)
            continue;
        if (rank_input_take(&a->ranks[i], f->payload + 4, f->size - 4)) {
            frame_stream_fail(a->channel, "the launcher sent more input than it may");
            return;
        }
    }
}

static void on_credit(struct agent *a, const struct frame *f)
{
    rank_output_acknowledge(a, u32_read(f->payload));
}

static void on_signal(struct agent *a, const struct frame *f)
{
    uint32_t signal = u32_read(f->payload);

    if (signal == 0 || signal >= NSIG)
        return;
    if (f->size >= 8)
        ranks_stop_signal_rank(a, (int)u32_read(f->payload + 4), (int)signal);
    else
        ranks_stop_warn(a, (int)signal);
}

static void on_stop(struct agent *a, const struct frame *f)
{
    uint32_t signal = u32_read(f->payload), grace_ms = u32_read(f->payload + 4);

    if (a->is_paused) /* some may be about to stop, and not be seen as stopped yet */
        ranks_stop_signal_all(a, SIGCONT);
    a->is_paused = false;
    if (a->in_epilog)
        return;
    if (f->size >= 12 && u32_read(f->payload + 8)) /* before the ranks end */
        coordinator_session_tell_waits(a->coordinator_session);
    if (grace_ms > INT32_MAX)
        grace_ms = INT32_MAX;
    if (f->size >= 16 && u32_read(f->payload + 12))
        ranks_stop_begin_slurm(a, (int)grace_ms);
    else
        ranks_stop_begin(a, signal > 0 && signal < NSIG ? (int)signal : SIGTERM, (int)grace_ms);
}

static void on_gone(struct agent *a, const struct frame *f)
{
    coordinator_session_host_gone(a->coordinator_session, (int)u32_read(f->payload),
                                  u32_read(f->payload + 4));
}

/* The ranks that still run look in job.json for the next coordinator. */
static void coordinator_moved(struct agent *a, const char *address, int rc, struct fault *why)
{
    if (!rc) {
        snprintf(a->coordinator, sizeof(a->coordinator), "%s", address);
        rc = job_prepare_write_file(a, why);
    }
    if (rc)
        job_report_lost(a, why->text);
}

/* Comes to the agent of the rank's host, and with number 0 to the coordinator's, too. */
static void on_replace(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload), number = u32_read(f->payload + 4);
    struct fault why;

    if (rank >= (uint32_t)a->job->size || number > INT_MAX)
        return;
    if (number == 0)
        coordinator_session_vacant(a->coordinator_session, (int)rank);
    else if (job_prepare_restore(a, &why))
        job_report_note(a, "warn", why.text);
    ranks_start_again(a, (int)rank, (int)number);
}

static void on_grow(struct agent *a, const struct frame *f)
{
    struct fault why;
    int rc = job_spec_grow(a->job, u32_read(f->payload), u32_read(f->payload + 4),
                           u32_read(f->payload + 8), &why);

    if (!rc)
        rc = ranks_start_grow(a, &why);
    if (rc)
        job_report_lost(a, why.text);
    else
        frame_stream_send(a->channel, AGENT_GREW, f->payload, 4);
}

static void on_leave(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload);

    if (rank >= (uint32_t)a->job->size)
        return;
    coordinator_session_leaves(a->coordinator_session, (int)rank);
    ranks_stop_leave(a, (int)rank);
}

/* The ranks that run read the wiring anew when they next make links. */
static void wiring_take(struct agent *a, const json_t *table)
{
    struct fault why;
    int rc = job_spec_rewire(a->job, table, &why);

    if (!rc && a->state != AGENT_IS_DONE)
        rc = job_prepare_write_wiring(a, &why);
    if (rc)
        job_report_lost(a, why.text);
    else
        frame_stream_send(a->channel, AGENT_WIRED, NULL, 0);
}

/* Another host has taken the place of one that was lost, or the job has a further one. */
static void on_placed(struct agent *a, const struct frame *f)
{
    json_t *placed = parsed_json((const char *)f->payload, f->size, 0, NULL);
    const json_t *wiring = json_object_get(placed, "wiring");
    const char *name = "", *address = "";
    struct fault why;
    int host = -1, rc;

    json_unpack(placed, "{s:i, s:s, s:s}", "host", &host, "name", &name, "address", &address);
    rc = job_spec_place(a->job, host, name, address, &why);
    if (rc)
        job_report_lost(a, why.text);
    else
        coordinator_session_place(a->coordinator_session, host, name);
    if (!rc && wiring)
        wiring_take(a, wiring);
    json_decref(placed);
}

/* The ranks find it in job.json when they keep something the next time. */
static void on_keeper(struct agent *a, const struct frame *f)
{
    struct fault why;

    if (f->size >= sizeof(a->next_keeper))
        return;
    memcpy(a->next_keeper, f->payload, f->size);
    a->next_keeper[f->size] = '\0';
    if (job_prepare_write_file(a, &why))
        job_report_note(a, "warn", why.text);
}

static void on_coordinate(struct agent *a, const struct frame *f)
{
    json_t *asked = parsed_json((const char *)f->payload, f->size, 0, NULL), *list;
    char address[ADDRESS_TEXT] = "";
    struct fault why = {0};
    json_int_t membership;
    int count, *ended = NULL, rc = ML_ERR_REFUSED;

    if (json_unpack(asked, "{s:I, s:i, s:o}", "membership", &membership, "count", &count, "ended",
                    &list) == 0 &&
        membership >= 0 && membership <= UINT32_MAX && count >= 0 && count <= a->job->size)
        rc = host_table_read_numbers(&ended, list, count, a->job->size);
    if (rc)
        fault_set(&why, rc, "the launcher's COORDINATE is invalid");
    else
        rc = coordinator_session_take_over(a->coordinator_session, (uint32_t)membership, ended,
                                           count, address, &why);
    free(ended);
    json_decref(asked);
    coordinator_moved(a, address, rc, &why);
    if (!rc)
        frame_stream_send_json(a->channel, AGENT_COORDINATES,
                               json_pack("{ss}", "coordinator", address));
}

static void on_moved(struct agent *a, const struct frame *f)
{
    char address[ADDRESS_TEXT];
    struct fault why = {0};
    int rc;

    snprintf(address, sizeof(address), "%.*s", (int)f->size, (const char *)f->payload);
    rc = coordinator_session_follow(a->coordinator_session, address, &why);
    coordinator_moved(a, address, rc, &why);
}

static void on_ask(struct agent *a, const struct frame *f)
{
    (void)f;
    ranks_ask(a);
}

static void on_kill(struct agent *a, const struct frame *f)
{
    (void)f;
    a->is_paused = false;
    ranks_stop_hurry(a);
}

static void on_resize(struct agent *a, const struct frame *f)
{
    uint32_t rows = u32_read(f->payload), columns = u32_read(f->payload + 4);

    if (rows > 0 && rows <= UINT16_MAX && columns > 0 && columns <= UINT16_MAX)
        rank_pty_resize(a, (uint16_t)rows, (uint16_t)columns);
}

static void on_drop(struct agent *a, const struct frame *f)
{
    (void)f;
    a->drops_output = true;
    agent_check_soon(a);
}

/* Before JOB and after DONE there are no ranks, but silence is allowed all the same. */
static bool has_ranks(const struct agent *a)
{
    return a->state > AGENT_HAS_SAID_HELLO && a->state < AGENT_IS_DONE;
}

static void on_pause(struct agent *a, const struct frame *f)
{
    (void)f;
    a->is_paused = true;
    coordinator_session_pause(a->coordinator_session);
    if (has_ranks(a))
        ranks_stop_signal_all(a, SIGSTOP);
}

static void on_resume(struct agent *a, const struct frame *f)
{
    (void)f;
    a->is_paused = false;
    coordinator_session_resume(a->coordinator_session);
    if (!has_ranks(a))
        return;
    ranks_stop_signal_all(a, SIGCONT);
    ranks_start_resume(a);
}

static void on_ping(struct agent *a, const struct frame *f)
{
    int64_t times[2] = {0, clock_ns()};

    if (f->size == sizeof(times[0]))
        memcpy(times, f->payload, sizeof(times[0]));
    frame_stream_send(a->channel, AGENT_PONG, times, times[0] ? sizeof(times) : 0);
}

static void on_bye(struct agent *a, const struct frame *f)
{
    (void)f;
    event_base_loopbreak(a->base);
}

static void hello_send(struct agent *a)
{
    char address[ADDRESS_TEXT], guess[ADDRESS_TEXT];
    struct utsname system;

    own_address_of_ssh(address);
    own_address_guess(guess);
    uname(&system);
    frame_stream_send_json(a->channel, AGENT_HELLO,
                           json_pack("{ss ss si ss ss}", "build", build_id, "arch", system.machine,
                                     "pid", (int)getpid(), "address", address, "guess", guess));
}

static void on_again(struct agent *a, const struct frame *f)
{
    (void)f;
    if (a->state != AGENT_HAS_SAID_HELLO && a->state != AGENT_IS_READY &&
        a->state != AGENT_IS_DONE) {
        frame_stream_fail(a->channel, "the launcher sent a frame that is invalid now");
        return;
    }
    job_finish_forget(a);
    hello_send(a);
    frame_stream_flush(a->channel);
}

/* The frames that are valid in each state, with their least size. A frame that comes too late
 * (after DONE) is ignored: the launcher could not know yet. */
static const struct dispatch {
    uint8_t type;
    enum agent_state first, last;
    uint32_t min_size;
    void (*handle)(struct agent *a, const struct frame *f);
} dispatch[] = {
    {LAUNCH_SHARED, AGENT_HAS_SAID_HELLO, AGENT_HAS_SAID_HELLO, 2, on_shared},
    {LAUNCH_JOB, AGENT_HAS_SAID_HELLO, AGENT_HAS_SAID_HELLO, 2, on_job},
    {LAUNCH_QUERY, AGENT_HAS_SAID_HELLO, AGENT_IS_RUNNING, 2, on_query},
    {LAUNCH_SYNC, AGENT_HAS_SAID_HELLO, AGENT_IS_RECEIVING, 1, on_sync},
    {LAUNCH_STAGED, AGENT_IS_RECEIVING, AGENT_IS_RECEIVING, 0, on_staged},
    {LAUNCH_FILE, AGENT_IS_RECEIVING, AGENT_IS_RECEIVING, 5, on_file},
    {LAUNCH_START, AGENT_IS_READY, AGENT_IS_READY, 2, on_start},
    {LAUNCH_STDIN, AGENT_IS_READY, AGENT_IS_RUNNING, 4, on_stdin},
    {LAUNCH_CREDIT, AGENT_IS_READY, AGENT_IS_RUNNING, 4, on_credit},
    {LAUNCH_SIGNAL, AGENT_IS_READY, AGENT_IS_RUNNING, 4, on_signal},
    {LAUNCH_STOP, AGENT_IS_READY, AGENT_IS_RUNNING, 8, on_stop},
    {LAUNCH_ASK, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_ask},
    {LAUNCH_GONE, AGENT_IS_READY, AGENT_IS_DONE, 8, on_gone}, /* the coordinator outlives ranks */
    {LAUNCH_PLACED, AGENT_IS_READY, AGENT_IS_DONE, 2, on_placed},
    {LAUNCH_REPLACE, AGENT_IS_READY, AGENT_IS_DONE, 8, on_replace},
    {LAUNCH_GROW, AGENT_IS_READY, AGENT_IS_DONE, 12, on_grow},
    {LAUNCH_LEAVE, AGENT_IS_READY, AGENT_IS_DONE, 4, on_leave},
    {LAUNCH_COORDINATE, AGENT_IS_READY, AGENT_IS_RUNNING, 2, on_coordinate},
    {LAUNCH_KEEPER, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_keeper},
    {LAUNCH_MOVED, AGENT_IS_READY, AGENT_IS_RUNNING, 1, on_moved},
    {LAUNCH_KILL, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_kill},
    {LAUNCH_DROP, AGENT_IS_READY, AGENT_IS_RUNNING, 0, on_drop},
    {LAUNCH_RESIZE, AGENT_IS_READY, AGENT_IS_RUNNING, 8, on_resize},
    {LAUNCH_PAUSE, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_pause},
    {LAUNCH_RESUME, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_resume},
    {LAUNCH_PING, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_ping},
    {LAUNCH_BYE, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_bye},
    {LAUNCH_AGAIN, AGENT_HAS_SAID_HELLO, AGENT_IS_DONE, 0, on_again},
};

static void on_frame(const struct frame *f, void *arg)
{
    struct agent *a = arg;

    a->is_heard = true;
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
    frame_stream_fail(a->channel, "the launcher sent a frame that is invalid now");
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
    rc = frame_stream_open(&a->channel, a->base, in, out, &events, why);
    return rc;
}

/* Where --threads has a say, the user knows of them. */
static void threads_watch(struct agent *a)
{
    int running = a->spawned - a->ended;
    cpu_set_t cpus;

    if (a->state != AGENT_IS_RUNNING || a->job->options.binding.threads || a->is_paused ||
        sched_getaffinity(0, sizeof(cpus), &cpus))
        return;
    if (a->bindings && a->bindings[0].is_bound)
        CPU_ZERO(&cpus);
    for (int i = 0; a->bindings && i < a->job->rank_count; i++)
        CPU_OR(&cpus, &cpus, &a->bindings[i].cpus);
    crowding_tick(&a->crowding, running, CPU_COUNT(&cpus));
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
    threads_watch(a);
    if (a->locks[0] >= 0 && !a->is_guard_removing && clock_ms() - a->touched_ms >= TOUCH_MS)
        job_prepare_touch(a);
    if (frame_stream_frames(a->channel) > 0 || a->is_paused || !a->is_heard) {
        a->silent_ticks = 0;
    } else if (++a->silent_ticks * AGENT_TICK_MS >= AGENT_SILENCE_MS) {
        snprintf(text, sizeof(text),
                 "mlaunch has been silent for %g s, so the ranks are ended: it was stopped or "
                 "lost, or its machine has no time for it",
                 FAILURE_SECONDS(AGENT_SILENCE_MS));
        frame_stream_fail(a->channel, text);
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
    struct event *events[] = {a->child_event, a->term_event,  a->guard_event,    a->spawn_event,
                              a->tick_event,  a->check_event, a->warn_events[0], a->warn_events[1]};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i])
            event_free(events[i]);
    }
    ranks_stop_close(a);
    probe_run_close(&a->probe);
    copier_child_close(a->copier);
    a->copier = NULL; /* which job_prepare_release() would end */
    stack_child_close(a->stack_child);
    job_prepare_release(a);
    if (a->dir[0]) /* after AGAIN */
        job_prepare_remove(a);
    frame_stream_close(a->channel);
    if (a->base)
        event_base_free(a->base);
    if (a->guard_fd >= 0)
        close(a->guard_fd);
}

int worker_run(int guard_fd, pid_t guard)
{
    struct agent a = {
        .guard_fd = guard_fd, .guard = guard, .cgroup_fd = -1, .locks = JOB_DIRECTORY_UNLOCKED};
    struct fault why = {0};
    int rc;

    spawn_prepare(&a.limits);
    frame_stream_keep_memory();
    a.base = event_base_new();
    rc = a.base ? channel_take(&a, &why) : fault_set(&why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = events_open(&a, &why);
    if (!rc) {
        hello_send(&a);
        frame_stream_flush(a.channel);
        job_prepare_ahead(&a);
        /* A loop that begins forgets that it was to end. */
        if (!frame_stream_has_ended(a.channel))
            event_base_dispatch(a.base);
    } else {
        log_error("%s", why.text);
        a.exit_status = STATUS_OURS;
    }
    worker_close(&a);
    return a.exit_status;
}
