/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/job_report.h"

#include "common/status.h"
#include "common/text/text_json.h"
#include "launcher/agent/host/lost_device_linux.h"
#include "launcher/agent/queries/rank_counts.h"
#include "launcher/agent/rank/core_file.h"
#include "launcher/agent/run/agent.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CALLS = 1024,         /* in one frame */
    CALLS_KEPT = 1 << 20, /* bytes in the stream that the channel does not take */
};

void job_report_open(struct agent *a)
{
    a->run.report.warnings = json_array();
}

void job_report_note_host(struct agent *a)
{
    if (a->run.report.is_noted)
        return;
    a->run.report.is_noted = true;
    failure_cause_begin(&a->run.report.failure_cause);
    a->run.report.lost_device = lost_device_begin("/sys");
}

void job_report_close(struct agent *a)
{
    struct job_report *p = &a->run.report;

    json_decref(p->warnings);
    lost_device_end(p->lost_device);
    if (rank_record_is_open(&p->record))
        rank_record_close(&p->record);
    *p = (struct job_report){0};
}

void job_report_note(struct agent *a, const char *level, const char *text)
{
    frame_stream_send_json(a->launcher.channel, AGENT_NOTE,
                           json_pack("{ss so}", "level", level, "text", text_json(text)));
}

void job_report_warning(struct agent *a, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_array_append_new(a->run.report.warnings, text_json(text));
}

void job_report_refused(struct agent *a, const char *text)
{
    a->run.is_refused = true;
    frame_stream_send_json(a->launcher.channel, AGENT_REFUSED,
                           json_pack("{so si}", "text", text_json(text), "status", STATUS_OURS));
}

void job_report_lost(struct agent *a, const char *text)
{
    frame_stream_send_json(a->launcher.channel, AGENT_LOST,
                           json_pack("{so}", "text", text_json(text)));
}

void job_report_cut_off(struct agent *a, const char *coordinator, const char *text)
{
    frame_stream_send_json(a->launcher.channel, AGENT_LOST,
                           json_pack("{so ss}", "text", text_json(text), "cut_off", coordinator));
}

void job_report_leaving(struct agent *a, const char *text)
{
    frame_stream_send_json(a->launcher.channel, AGENT_LOST,
                           json_pack("{so sb}", "text", text_json(text), "leaving", 1));
}

void job_report_aborted(struct agent_rank *r, int status, const char *why)
{
    frame_stream_send_json(
        r->agent->launcher.channel, AGENT_ABORTED,
        json_pack("{si si so}", "rank", r->job->rank, "status", status, "why", text_json(why)));
}

void job_report_fault(struct agent *a, int rank, const char *text)
{
    frame_stream_send_json(
        a->launcher.channel, AGENT_ABORTED,
        json_pack("{si si so sb}", "rank", rank, "status", 1, "why", text_json(text), "fault", 1));
}

static json_int_t milliseconds(struct timeval t)
{
    return (json_int_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

static json_t *usage_json(const struct agent_rank *r, int64_t peak)
{
    return json_pack("{sI sI sI sI}", "elapsed_ms", (json_int_t)r->elapsed_ms, "user_ms",
                     milliseconds(r->usage.ru_utime), "system_ms", milliseconds(r->usage.ru_stime),
                     "peak_bytes", (json_int_t)peak);
}

static bool cause_find(char *out, size_t size, struct agent_rank *r, int64_t peak)
{
    struct agent *a = r->agent;
    int signal = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;

    return failure_cause_find(out, size, &a->run.report.failure_cause, signal, peak,
                              a->run.place.cwds[r->job->app]) ||
           (signal != SIGKILL && lost_device_find(out, size, a->run.report.lost_device));
}

/* mlaunch answers by REPLACE, in a job whose ranks may be replaced. */
static void reported_set(struct agent_rank *r)
{
    const struct job_options *o = &r->agent->run.job->options;

    r->state = RANK_REPORTED;
    r->is_undecided = o->elastic && o->restarts;
    r->agent->run.ranks.undecided += r->is_undecided;
}

void job_report_exited(struct agent_rank *r)
{
    bool has_exited = WIFEXITED(r->status);
    bool is_failure = !has_exited || WEXITSTATUS(r->status) != 0;
    char core[1024], cause[256];
    int64_t peak = (int64_t)r->usage.ru_maxrss * 1024;
    json_t *said = json_pack("{si si si sb sb sb}", "rank", r->job->rank, "pid", (int)r->pid,
                             has_exited ? "status" : "signal",
                             has_exited ? WEXITSTATUS(r->status) : WTERMSIG(r->status), "core",
                             !has_exited && WCOREDUMP(r->status), "consequence", (int)r->is_broken,
                             "ended_by_us", (int)r->is_signalled);

    if (!has_exited && WCOREDUMP(r->status) &&
        core_file_find(core, sizeof(core), r->pid, WTERMSIG(r->status),
                       r->agent->run.place.cwds[r->job->app]))
        json_object_set_new(said, "core_file", text_json(core));
    if (r->lost[0])
        json_object_set_new(said, "lost", text_json(r->lost));
    if (r->unstarted[0])
        json_object_set_new(said, "error", text_json(r->unstarted));
    if (r->message[0])
        json_object_set_new(said, "message", text_json(r->message));
    if (is_failure && !r->is_signalled && !r->is_broken &&
        cause_find(cause, sizeof(cause), r, peak))
        json_object_set_new(said, "cause", text_json(cause));
    json_object_set_new(said, "usage", usage_json(r, peak));
    json_object_set_new(said, "counted",
                        rank_counts_sum(r->agent->directory.path, geteuid(), r->job->rank));
    reported_set(r);
    r->agent->run.ranks.unreported--;
    frame_stream_send_json(r->agent->launcher.channel, AGENT_EXITED, said);
}

void job_report_failed(struct agent_rank *r, int status, const struct fault *why)
{
    reported_set(r);
    frame_stream_send_json(r->agent->launcher.channel, AGENT_EXITED,
                           json_pack("{si si si sb sb sb so}", "rank", r->job->rank, "pid", 0,
                                     "status", status, "core", 0, "consequence", 0, "ended_by_us",
                                     0, "error", text_json(why->text)));
}

/* An agent that has not been told to stop may have ranks that have failed, with --on-failure. */
static bool job_has_failed(const struct agent *a)
{
    bool has_failed = a->run.stop.is_active;

    for (int i = 0; i < a->run.ranks.spawned && !has_failed; i++)
        has_failed = a->run.ranks.all[i].status != 0;
    return has_failed;
}

static uint64_t calls_most(const struct agent *a)
{
    return a->run.job->size > AGENT_CALLS_LAST ? 1
                                               : (uint64_t)(AGENT_CALLS_LAST / a->run.job->size);
}

/* False: there are no more. */
static bool calls_send(struct agent *a, int rank)
{
    static struct rank_call calls[CALLS];
    size_t n = rank_record_read(&a->run.report.record, calls, CALLS);
    struct calls_head head = {
        .rank = (uint32_t)rank, .is_last = n == 0, .made = a->run.report.record.made};

    frame_stream_send_parts(a->launcher.channel, AGENT_CALLS, &head, sizeof(head), calls,
                            n * sizeof(*calls));
    return n > 0;
}

bool job_report_calls(struct agent *a)
{
    bool has_failed = job_has_failed(a);

    while (a->run.report.recorded < a->run.ranks.spawned &&
           !frame_stream_has_ended(a->launcher.channel)) {
        int rank = a->run.ranks.all[a->run.report.recorded].job->rank;
        bool is_open = rank_record_is_open(&a->run.report.record);

        if (is_open && frame_stream_kept(a->launcher.channel) > CALLS_KEPT)
            return false;
        if (!is_open && rank_record_open(&a->run.report.record, a->directory.path, geteuid(), rank,
                                         calls_most(a)))
            is_open = has_failed || a->run.report.record.keeps_all;
        if (is_open && calls_send(a, rank))
            continue;
        rank_record_close(&a->run.report.record);
        a->run.report.recorded++;
    }
    return true;
}
