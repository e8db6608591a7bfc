/* SPDX-License-Identifier: MIT */
#include "launcher/agent/report.h"

#include "common/text/text_json.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/rank/core_file.h"
#include "launcher/protocol/agent_protocol.h"

#include <sys/wait.h>

void report_note(struct agent *a, const char *level, const char *text)
{
    frame_stream_send_json(a->channel, AGENT_NOTE,
                           json_pack("{ss so}", "level", level, "text", text_json(text)));
}

void report_lost(struct agent *a, const char *text)
{
    frame_stream_send_json(a->channel, AGENT_LOST, json_pack("{so}", "text", text_json(text)));
}

void report_cut_off(struct agent *a, const char *text)
{
    frame_stream_send_json(a->channel, AGENT_LOST,
                           json_pack("{so sb}", "text", text_json(text), "cut_off", 1));
}

void report_aborted(struct agent_rank *r, int status, const char *why)
{
    frame_stream_send_json(
        r->agent->channel, AGENT_ABORTED,
        json_pack("{si si so}", "rank", r->job->rank, "status", status, "why", text_json(why)));
}

void report_fault(struct agent *a, int rank, const char *text)
{
    frame_stream_send_json(
        a->channel, AGENT_ABORTED,
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

void report_exited(struct agent_rank *r)
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
                       r->agent->cwds[r->job->app]))
        json_object_set_new(said, "core_file", text_json(core));
    if (r->lost[0])
        json_object_set_new(said, "lost", text_json(r->lost));
    if (r->message[0])
        json_object_set_new(said, "message", text_json(r->message));
    if (is_failure && !r->is_signalled && !r->is_broken &&
        failure_cause_find(cause, sizeof(cause), &r->agent->failure_cause,
                           has_exited ? 0 : WTERMSIG(r->status), peak, r->agent->cwds[r->job->app]))
        json_object_set_new(said, "cause", text_json(cause));
    json_object_set_new(said, "usage", usage_json(r, peak));
    r->state = RANK_REPORTED;
    r->agent->unreported--;
    frame_stream_send_json(r->agent->channel, AGENT_EXITED, said);
}

void report_failed(struct agent_rank *r, int status, const struct fault *why)
{
    r->state = RANK_REPORTED;
    frame_stream_send_json(r->agent->channel, AGENT_EXITED,
                           json_pack("{si si si sb sb sb so}", "rank", r->job->rank, "pid", 0,
                                     "status", status, "core", 0, "consequence", 0, "ended_by_us",
                                     0, "error", text_json(why->text)));
}
