/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/rank_frames.h"

#include "common/log.h"
#include "common/text/text_json.h"
#include "launcher/run/record/call_log.h"
#include "launcher/run/record/recording.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/state/hang_watch.h"
#include "launcher/run/state/round_driver.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/rank_summary.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* The rank exists and runs on this host. */
static bool is_rank_of(const struct job_round *r, const struct job_round_host *h, uint32_t rank)
{
    return rank < (uint32_t)r->plan->where->size && &r->hosts[r->lives.ranks[rank].host] == h;
}

int rank_frames_on_started(struct job_round *r, struct job_round_host *h, const struct frame *f,
                           struct fault *why)
{
    struct started_report started;

    if (started_report_parse(&started, f, r->plan->where->size, why))
        return why->code;
    if (!is_rank_of(r, h, (uint32_t)started.rank)) {
        free(started.binding);
        return fault_set(why, ML_ERR_REFUSED, "its agent reported a rank of another host");
    }
    memset(r->ranks[started.rank].is_closed, 0, sizeof(r->ranks[started.rank].is_closed));
    r->ranks_started += r->ranks[started.rank].pid == 0;
    r->ranks[started.rank].pid = started.pid;
    log_debug("rank %d on host %s: started, pid %lld", started.rank, h->host->name,
              (long long)started.pid);
    if (started.binding)
        output_say(r->config.output, "rank %d on host %s: %s", started.rank, h->host->name,
                   started.binding);
    events_file_write(r->config.events, "started", r->identity.id,
                      json_pack("{s:i, s:s, s:I, s:s*}", "rank", started.rank, "host",
                                h->host->name, "pid", (json_int_t)started.pid, "binding",
                                started.binding));
    free(started.binding);
    if (r->config.on_rank_changed)
        r->config.on_rank_changed(r->config.arg);
    if (r->ranks_started == r->plan->where->size) {
        r->ranks_started = -1; /* an agent may say it twice */
        r->config.on_started(r->config.arg);
    }
    return 0;
}

/* An agent that sends more than it may would fill the memory here. */
static int output_check(struct job_round *r, struct job_round_host *h, uint32_t rank, int stream,
                        size_t size, struct fault *why)
{
    bool *is_closed = &r->ranks[rank].is_closed[stream - 1];

    h->unacknowledged += agent_output_cost(size);
    if (*is_closed)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent OUTPUT of a stream that had ended");
    if (h->unacknowledged > AGENT_OUTPUT_WINDOW)
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent sent more OUTPUT than it may without CREDIT");
    *is_closed = size == 0;
    return 0;
}

int rank_frames_on_output(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why)
{
    uint32_t rank = 0;
    int rc;

    if (f->size >= 5) {
        memcpy(&rank, f->payload, sizeof(rank));
        rank = ntohl(rank);
    }
    if (f->size < 5 || !is_rank_of(r, h, rank) || f->payload[4] < 1 || f->payload[4] > 2)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed OUTPUT");
    hang_watch_moved(r->hang);
    rc = output_check(r, h, rank, f->payload[4], f->size - 5, why);
    if (!rc)
        output_write(r->config.output, (int)(h - r->hosts), (int)rank, f->payload[4],
                     f->payload + 5, f->size - 5);
    return rc;
}

/* Reads the ranges, which rise and are of this host's ranks, whose streams are open. Returns how
 * many bytes the head takes; 0: it is malformed. */
static size_t folded_ranges_read(struct job_round *r, const struct job_round_host *h,
                                 const struct frame *f, struct line_range **out, uint32_t *count)
{
    uint32_t words[2], next = 0;
    size_t at = 5;
    struct line_range *ranges;

    if (f->size <= at || f->payload[0] < 1 || f->payload[0] > 2)
        return 0;
    memcpy(words, f->payload + 1, sizeof(words[0]));
    *count = ntohl(words[0]);
    if (*count == 0 || *count > (f->size - at - 1) / sizeof(words))
        return 0;
    *out = ranges = malloc(*count * sizeof(*ranges));
    for (uint32_t i = 0; ranges && i < *count; i++, at += sizeof(words)) {
        memcpy(words, f->payload + at, sizeof(words));
        ranges[i] = (struct line_range){ntohl(words[0]), ntohl(words[1])};
        if (ranges[i].first < next || ranges[i].last < ranges[i].first ||
            ranges[i].last >= (uint32_t)r->plan->where->size)
            return 0;
        next = ranges[i].last + 1;
        for (uint32_t k = ranges[i].first; k <= ranges[i].last; k++)
            if (!is_rank_of(r, h, k) || r->ranks[k].is_closed[f->payload[0] - 1])
                return 0;
    }
    return ranges ? at : 0;
}

int rank_frames_on_folded(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why)
{
    struct line_range *ranges = NULL;
    uint32_t count = 0;
    size_t head = r->plan->output == OUTPUT_FOLD ? folded_ranges_read(r, h, f, &ranges, &count) : 0;
    int last = head ? f->payload[f->size - 1] : 0;
    int rc = 0;

    if (last != '\n' && last != '\r')
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed FOLDED");
    h->unacknowledged += agent_output_cost(f->size);
    if (!rc && h->unacknowledged > AGENT_OUTPUT_WINDOW)
        rc =
            fault_set(why, ML_ERR_REFUSED, "its agent sent more OUTPUT than it may without CREDIT");
    hang_watch_moved(r->hang);
    if (!rc)
        output_write_folded(r->config.output, (int)(h - r->hosts),
                            &(struct line_ranks){ranges, count}, f->payload[0], f->payload + head,
                            f->size - head, agent_output_cost(f->size));
    free(ranges);
    return rc;
}

static json_t *usage_json(const struct rank_usage *u)
{
    return json_pack("{s:f, s:f, s:f, s:I}", "elapsed_seconds", (double)u->elapsed_ms / 1e3,
                     "user_seconds", (double)u->user_ms / 1e3, "system_seconds",
                     (double)u->system_ms / 1e3, "peak_bytes", (json_int_t)u->peak_bytes);
}

static json_t *counted_json(const struct rank_counted *c)
{
    return json_pack("{s:I, s:I, s:f, s:I}", "calls", (json_int_t)c->calls, "bytes",
                     (json_int_t)c->bytes, "wait_seconds", (double)c->wait_ms / 1e3, "kept_waiting",
                     (json_int_t)c->kept_waiting);
}

static json_t *exited_json(const struct exited_report *e, const char *host)
{
    json_t *j = json_pack("{s:i, s:s, s:I, s:b, s:b, s:b}", "rank", e->rank, "host", host, "pid",
                          (json_int_t)e->pid, "core", e->core, "consequence", e->consequence,
                          "ended_by_us", e->ended_by_us);

    json_object_set_new(j, e->signal ? "signal" : "status",
                        json_integer(e->signal ? e->signal : e->status));
    if (e->error[0])
        json_object_set_new(j, "error", text_json(e->error));
    if (e->message[0])
        json_object_set_new(j, "message", text_json(e->message));
    if (e->cause[0])
        json_object_set_new(j, "cause", text_json(e->cause));
    if (e->pid)
        json_object_update_new(j, usage_json(&e->usage));
    if (e->has_counted)
        json_object_update_new(j, counted_json(&e->counted));
    return j;
}

int rank_frames_on_exited(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why)
{
    struct exited_report e;

    if (exited_report_parse(&e, f, r->plan->where->size, why))
        return why->code;
    if (!is_rank_of(r, h, (uint32_t)e.rank))
        return fault_set(why, ML_ERR_REFUSED, "its agent reported a rank of another host");
    if (r->lives.ranks[e.rank].life == RANK_OVER)
        return 0;
    events_file_write(r->config.events, "exited", r->identity.id, exited_json(&e, h->host->name));
    rank_summary_add(r->config.summary, &e);
    r->driver->on_exited(r, h, &e);
    return 0;
}

int rank_frames_on_aborted(struct job_round *r, struct job_round_host *h, const struct frame *f,
                           struct fault *why)
{
    struct aborted_report aborted;
    const char *host;

    if (aborted_report_parse(&aborted, f, r->plan->where->size, why))
        return why->code;
    /* ml_abort is reported by the coordinator, which speaks for the ranks of all hosts. */
    if (!h->had_coordinator && !is_rank_of(r, h, (uint32_t)aborted.rank))
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent reported an abort by a rank of another host");
    host = r->hosts[r->lives.ranks[aborted.rank].host].host->name;
    if (r->ranks[aborted.rank].is_aborted)
        return 0; /* said before */
    r->ranks[aborted.rank].is_aborted = true;
    first_failure_aborted(&r->failure, &aborted, host, r->ranks[aborted.rank].pid);
    job_round_phases_on_failure(r);
    return 0;
}

int rank_frames_on_stdin_credit(struct job_round *r, struct job_round_host *h,
                                const struct frame *f, struct fault *why)
{
    uint32_t words[2];

    if (f->size == sizeof(words))
        memcpy(words, f->payload, sizeof(words));
    if (f->size != sizeof(words) || !is_rank_of(r, h, ntohl(words[0])))
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed STDIN_CREDIT");
    input_on_credit(r->config.input, (int)ntohl(words[0]), ntohl(words[1]));
    return 0;
}

int rank_frames_on_calls(struct job_round *r, struct job_round_host *h, const struct frame *f,
                         struct fault *why)
{
    struct rank_call *calls; /* a copy, since what comes is not aligned */
    struct calls_head head = {0};
    size_t size, count;

    if (f->size >= sizeof(head))
        memcpy(&head, f->payload, sizeof(head));
    if (f->size < sizeof(head) || (f->size - sizeof(head)) % sizeof(*calls) ||
        !is_rank_of(r, h, head.rank))
        return fault_set(why, ML_ERR_REFUSED, "its agent sent malformed CALLS");
    size = f->size - sizeof(head);
    calls = malloc(size + 1);
    if (!calls)
        return 0;
    memcpy(calls, f->payload + sizeof(head), size);
    count = size / sizeof(*calls);
    call_log_add(r->calls, (int)head.rank, head.made, calls, count);
    recording_add(r->config.recording, (int)head.rank, r->config.restart, &h->clock, calls, count,
                  head.is_last);
    free(calls);
    return 0;
}
