/* SPDX-License-Identifier: MIT */
#include "launcher/agent/agent_frames.h"

#include "common/build_id.h"
#include "common/clock.h"
#include "common/net/address.h"
#include "common/net/host_table.h"
#include "common/text/parsed_json.h"
#include "launcher/agent/children/copier_child.h"
#include "launcher/agent/children/stack_child.h"
#include "launcher/agent/host/own_address.h"
#include "launcher/agent/job_finish.h"
#include "launcher/agent/job_prepare.h"
#include "launcher/agent/queries/answer.h"
#include "launcher/agent/ranks_start.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/rank_pty.h"
#include "launcher/agent/run/ranks_stop.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/protocol/job_spec_change.h"

#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void frame_refuse(struct agent *a)
{
    frame_stream_fail(a->launcher.channel, "the launcher sent a frame that is invalid now");
}

static uint32_t u32_read(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void on_shared(struct agent *a, const struct frame *f)
{
    if (!a->run.shared)
        a->run.shared = job_spec_parse_shared((const char *)f->payload, f->size);
    else
        frame_refuse(a);
}

static void on_job(struct agent *a, const struct frame *f)
{
    probe_run_close(&a->run.probe);
    job_prepare(a, (const char *)f->payload, f->size);
    if (a->run.state == AGENT_IS_READY)
        ranks_start_ahead(a);
}

static void on_file(struct agent *a, const struct frame *f)
{
    job_prepare_file(a, u32_read(f->payload), f->payload + 4, f->size - 4);
}

static void on_query(struct agent *a, const struct frame *f)
{
    if (a->run.state == AGENT_HAS_SAID_HELLO)
        frame_stream_send_json(a->launcher.channel, AGENT_ANSWER,
                               answer_make((const char *)f->payload, f->size, &a->run.probe));
    else
        stack_child_ask(&a->run.stack_child, a->base, a->launcher.channel, f->payload, f->size);
}

static void on_copier_end(const char *text, void *arg)
{
    struct agent *a = arg;

    if (a->run.state == AGENT_IS_RECEIVING)
        job_prepare_fail(a, text);
    else if (!a->run.is_refused)
        job_report_refused(a, text);
}

/* The first order starts the program that carries them out. */
static void on_sync(struct agent *a, const struct frame *f)
{
    struct fault why;

    if (a->run.state == AGENT_IS_RECEIVING && !a->run.place.staged)
        frame_stream_fail(a->launcher.channel,
                          "the launcher sent files that the job does not have");
    else if (!a->run.copier && copier_child_start(&a->run.copier, a->base, a->launcher.channel,
                                                  on_copier_end, a, &why))
        on_copier_end(why.text, a);
    else
        copier_child_order(a->run.copier, f->payload, f->size);
}

static void on_staged(struct agent *a, const struct frame *f)
{
    (void)f;
    if (!a->run.place.staged) {
        frame_stream_fail(a->launcher.channel,
                          "the launcher sent files that the job does not have");
        return;
    }
    copier_child_close(a->run.copier);
    a->run.copier = NULL;
    job_prepare_staged(a);
    if (a->run.state == AGENT_IS_READY)
        ranks_start_ahead(a);
}

static void on_start(struct agent *a, const struct frame *f)
{
    ranks_start(a, (const char *)f->payload, f->size);
}

static void on_stdin(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload);

    for (int i = 0; i < a->run.job->rank_count; i++) {
        if (rank != AGENT_STDIN_ALL && rank != (uint32_t)a->run.ranks.all[i].job->rank)
            continue;
        if (rank_input_take(&a->run.ranks.all[i], f->payload + 4, f->size - 4)) {
            frame_stream_fail(a->launcher.channel, "the launcher sent more input than it may");
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

    if (a->launcher.is_paused) /* some may be about to stop, and not be seen as stopped yet */
        ranks_stop_signal_all(a, SIGCONT);
    a->launcher.is_paused = false;
    if (a->run.in_epilog)
        return;
    if (f->size >= 12 && u32_read(f->payload + 8)) /* before the ranks end */
        coordinator_session_tell_waits(a->run.coordinator_session);
    if (grace_ms > INT32_MAX)
        grace_ms = INT32_MAX;
    if (f->size >= 16 && u32_read(f->payload + 12))
        ranks_stop_begin_slurm(a, (int)grace_ms);
    else
        ranks_stop_begin(a, signal > 0 && signal < NSIG ? (int)signal : SIGTERM, (int)grace_ms);
}

static void on_gone(struct agent *a, const struct frame *f)
{
    coordinator_session_host_gone(a->run.coordinator_session, (int)u32_read(f->payload),
                                  u32_read(f->payload + 4));
}

/* The ranks that still run look in job.json for the next coordinator. */
static void coordinator_moved(struct agent *a, const char *address, int rc, struct fault *why)
{
    if (!rc) {
        snprintf(a->run.coordinator, sizeof(a->run.coordinator), "%s", address);
        rc = job_place_write_file(a, why);
    }
    if (rc)
        job_report_lost(a, why->text);
}

/* Comes to the agent of the rank's host, and with number 0 to the coordinator's, too. */
static void on_replace(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload), number = u32_read(f->payload + 4);
    struct fault why;

    if (rank >= (uint32_t)a->run.job->size || number > INT_MAX)
        return;
    if (number == 0)
        coordinator_session_vacant(a->run.coordinator_session, (int)rank);
    else if (job_place_restore(a, &why))
        job_report_note(a, "warn", why.text);
    ranks_start_again(a, (int)rank, (int)number);
}

static void on_grow(struct agent *a, const struct frame *f)
{
    struct fault why;
    int rc = job_spec_change_grow(a->run.job, u32_read(f->payload), u32_read(f->payload + 4),
                                  u32_read(f->payload + 8), &why);

    if (!rc)
        rc = ranks_start_grow(a, &why);
    if (rc)
        job_report_lost(a, why.text);
    else
        frame_stream_send(a->launcher.channel, AGENT_GREW, f->payload, 4);
}

static void on_leave(struct agent *a, const struct frame *f)
{
    uint32_t rank = u32_read(f->payload);

    if (rank >= (uint32_t)a->run.job->size)
        return;
    coordinator_session_leaves(a->run.coordinator_session, (int)rank);
    ranks_stop_leave(a, (int)rank);
}

/* The ranks that run read the wiring anew when they next make links. */
static void wiring_take(struct agent *a, const json_t *table)
{
    struct fault why;
    int rc = job_spec_rewire(a->run.job, table, &why);

    if (!rc && a->run.state != AGENT_IS_DONE)
        rc = job_place_write_wiring(a, &why);
    if (rc)
        job_report_lost(a, why.text);
    else
        frame_stream_send(a->launcher.channel, AGENT_WIRED, NULL, 0);
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
    rc = job_spec_change_place(a->run.job, host, name, address, &why);
    if (rc)
        job_report_lost(a, why.text);
    else
        coordinator_session_place(a->run.coordinator_session, host, name);
    if (!rc && wiring)
        wiring_take(a, wiring);
    json_decref(placed);
}

/* The ranks find it in job.json when they keep something the next time. */
static void on_keeper(struct agent *a, const struct frame *f)
{
    struct fault why;

    if (f->size >= sizeof(a->run.keeper.next))
        return;
    memcpy(a->run.keeper.next, f->payload, f->size);
    a->run.keeper.next[f->size] = '\0';
    if (job_place_write_file(a, &why))
        job_report_note(a, "warn", why.text);
}

static void on_coordinate(struct agent *a, const struct frame *f)
{
    json_t *asked = parsed_json((const char *)f->payload, f->size, 0, NULL), *list;
    char address[ADDRESS_TEXT] = "";
    struct fault why = {0};
    json_int_t membership;
    int count, has_met, *ended = NULL, rc = ML_ERR_REFUSED;

    if (json_unpack(asked, "{s:I, s:b, s:i, s:o}", "membership", &membership, "met", &has_met,
                    "count", &count, "ended", &list) == 0 &&
        membership >= 0 && membership <= UINT32_MAX && count >= 0 && count <= a->run.job->size)
        rc = host_table_read_numbers(&ended, list, count, a->run.job->size);
    if (rc)
        fault_set(&why, rc, "the launcher's COORDINATE is invalid");
    else
        rc = coordinator_session_take_over(
            a->run.coordinator_session,
            &(struct coordinator_past){(uint32_t)membership, has_met, ended, count}, address, &why);
    free(ended);
    json_decref(asked);
    coordinator_moved(a, address, rc, &why);
    if (!rc)
        frame_stream_send_json(a->launcher.channel, AGENT_COORDINATES,
                               json_pack("{ss}", "coordinator", address));
}

static void on_moved(struct agent *a, const struct frame *f)
{
    char address[ADDRESS_TEXT];
    struct fault why = {0};
    int rc;

    snprintf(address, sizeof(address), "%.*s", (int)f->size, (const char *)f->payload);
    rc = coordinator_session_follow(a->run.coordinator_session, address, &why);
    coordinator_moved(a, address, rc, &why);
}

static void on_ask(struct agent *a, const struct frame *f)
{
    (void)f;
    ranks_stop_ask(a);
}

static void on_kill(struct agent *a, const struct frame *f)
{
    (void)f;
    a->launcher.is_paused = false;
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
    a->run.output.is_dropped = true;
    agent_check_soon(a);
}

/* Before JOB and after DONE there are no ranks, but silence is allowed all the same. */
static bool has_ranks(const struct agent *a)
{
    return a->run.state > AGENT_HAS_SAID_HELLO && a->run.state < AGENT_IS_DONE;
}

static void on_pause(struct agent *a, const struct frame *f)
{
    (void)f;
    a->launcher.is_paused = true;
    coordinator_session_pause(a->run.coordinator_session);
    if (has_ranks(a))
        ranks_stop_signal_all(a, SIGSTOP);
}

static void on_resume(struct agent *a, const struct frame *f)
{
    (void)f;
    a->launcher.is_paused = false;
    coordinator_session_resume(a->run.coordinator_session);
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
    frame_stream_send(a->launcher.channel, AGENT_PONG, times, times[0] ? sizeof(times) : 0);
}

static void on_bye(struct agent *a, const struct frame *f)
{
    (void)f;
    event_base_loopbreak(a->base);
}

void agent_frames_say_hello(struct agent *a)
{
    char address[ADDRESS_TEXT], guess[ADDRESS_TEXT];
    struct utsname system;

    own_address_of_ssh(address);
    own_address_guess(guess);
    uname(&system);
    frame_stream_send_json(a->launcher.channel, AGENT_HELLO,
                           json_pack("{ss ss si ss ss}", "build", build_id, "arch", system.machine,
                                     "pid", (int)getpid(), "address", address, "guess", guess));
}

static void on_again(struct agent *a, const struct frame *f)
{
    (void)f;
    job_finish_forget(a);
    agent_frames_say_hello(a);
    frame_stream_flush(a->launcher.channel);
}

/*
 * What becomes of a frame, one letter for each state: HELLO, RECEIVING, PREPARING, READY, RUNNING
 * and DONE.
 *
 *     T  taken
 *     R  refused: the launcher does not send it in this state, so the channel fails
 *     A  ignored: the agent has sent DONE, which answers this frame, too
 *     H  ignored: the agent already has all that such frames bring
 *     L  ignored: it comes too late, for ranks that have ended; the launcher could not know yet
 */
/* clang-format off */
#define FRAMES(ROW)                                     \
    ROW(LAUNCH_SHARED,     2,  "THHHHH", on_shared)     \
    ROW(LAUNCH_JOB,        2,  "TRRRRR", on_job)        \
    ROW(LAUNCH_QUERY,      2,  "TTTTTT", on_query)      \
    ROW(LAUNCH_SYNC,       1,  "TTHHHL", on_sync)       \
    ROW(LAUNCH_STAGED,     0,  "RTHHHL", on_staged)     \
    ROW(LAUNCH_FILE,       5,  "RTHHHL", on_file)       \
    ROW(LAUNCH_START,      2,  "RRRTRA", on_start)      \
    ROW(LAUNCH_STDIN,      4,  "RRRTTL", on_stdin)      \
    ROW(LAUNCH_CREDIT,     4,  "RRRTTL", on_credit)     \
    ROW(LAUNCH_SIGNAL,     4,  "RRRTTL", on_signal)     \
    ROW(LAUNCH_STOP,       8,  "RRRTTA", on_stop)       \
    ROW(LAUNCH_ASK,        0,  "RRRTTL", on_ask)        \
    ROW(LAUNCH_GONE,       8,  "RRRTTT", on_gone) /* the coordinator outlives ranks */ \
    ROW(LAUNCH_PLACED,     2,  "RRRTTT", on_placed)     \
    ROW(LAUNCH_REPLACE,    8,  "RRRTTT", on_replace)    \
    ROW(LAUNCH_GROW,       12, "RRRTTT", on_grow)       \
    ROW(LAUNCH_LEAVE,      4,  "RRRTTT", on_leave)      \
    ROW(LAUNCH_COORDINATE, 2,  "RRRTTA", on_coordinate) /* another host is asked after DONE */ \
    ROW(LAUNCH_KEEPER,     0,  "RRRTTL", on_keeper)     \
    ROW(LAUNCH_MOVED,      1,  "RRRTTL", on_moved)      \
    ROW(LAUNCH_KILL,       0,  "RRRTTA", on_kill)       \
    ROW(LAUNCH_DROP,       0,  "RRRTTL", on_drop)       \
    ROW(LAUNCH_RESIZE,     8,  "RRRTTL", on_resize)     \
    ROW(LAUNCH_PAUSE,      0,  "TTTTTT", on_pause)      \
    ROW(LAUNCH_RESUME,     0,  "TTTTTT", on_resume)     \
    ROW(LAUNCH_PING,       0,  "TTTTTT", on_ping)       \
    ROW(LAUNCH_BYE,        0,  "TTTTTT", on_bye)        \
    ROW(LAUNCH_AGAIN,      0,  "TRRTRT", on_again)

#define ROW_CHECK(type, least, cells, handle) \
    _Static_assert(sizeof(cells) == AGENT_STATES + 1, #type " has one letter for each state");
FRAMES(ROW_CHECK)

static const struct frame_row {
    uint8_t type;
    uint32_t least; /* bytes of its payload */
    const char *cells;
    void (*handle)(struct agent *a, const struct frame *f);
} rows[] = {
#define ROW_FILL(type, least, cells, handle) {type, least, cells, handle},
    FRAMES(ROW_FILL)
};
/* clang-format on */

static const struct frame_row *row_find(uint8_t type)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].type == type)
            return &rows[i];
    }
    return NULL;
}

void agent_frames_on_frame(const struct frame *f, void *arg)
{
    struct agent *a = arg;
    const struct frame_row *row = row_find(f->type);

    a->launcher.is_heard = true;
    if (a->run.is_refused)
        return;
    if (!row || f->size < row->least || row->cells[a->run.state] == 'R')
        frame_refuse(a);
    else if (row->cells[a->run.state] == 'T')
        row->handle(a, f);
}
