/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round_frames.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/net/host_table.h"
#include "common/status.h"
#include "common/text/text_json.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/record/call_log.h"
#include "launcher/run/record/recording.h"
#include "launcher/run/round/hang_watch.h"
#include "launcher/run/round/host_result.h"
#include "launcher/run/round/job_round_hosts.h"
#include "launcher/run/round/job_round_losses.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_state.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/round/round_change.h"
#include "launcher/run/round/round_pause.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/run/stdio/rank_summary.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* What the host gets its copy of --stage-env from, or NULL. */
static struct env_copy *copy_of(const struct job_round_member *m)
{
    return m->copy ? m->copy : m->round->copy;
}

/* Before the start: this host cannot take part. */
static void member_fail(struct job_round_member *m, enum channel_outlook outlook, const char *text)
{
    m->failed = true;
    m->outlook = outlook;
    snprintf(m->reason, sizeof(m->reason), "%s", text);
    env_copy_lose(copy_of(m), (int)(m - m->round->members));
}

/* This host cannot go on, and the others are independent of it. */
static void host_end(struct job_round *r, struct job_round_member *m, int status, const char *text)
{
    host_result_fail(r, m, status, text);
    job_round_losses_end_all(r, m);
    if (m->state < MEMBER_STARTED) {
        m->failed = true;
        agent_channel_shut(m->channel);
    }
    job_round_steps_stop_host(r, m);
}

/* Ranks of other hosts may still need what is on this one. */
static bool has_coordinator_for(const struct job_round *r, const struct job_round_member *m)
{
    return r->plan->job.elastic && m == &r->members[r->coordinator_host] && r->ranks_left > 0;
}

void job_round_frames_on_end(int host, const char *text, void *arg)
{
    struct job_round *r = arg;
    struct job_round_member *m = &r->members[host];
    enum job_round_member_state before = m->state;

    if (before == MEMBER_OPENING && round_pause_opens_again(r, m)) {
        log_info("host %s: tried again after a pause: %s", m->host->name, text);
        return;
    }
    m->state = MEMBER_GONE;
    if (host < r->plan->host_count)
        job_round_hosts_keep(r, m, "");
    if (host >= r->plan->host_count) {
        round_change_host_gone(r, m, text);
    } else if (r->config.results) {
        char result[sizeof(m->reason) + 300];

        snprintf(result, sizeof(result), "host %s%s: %s", m->host->name,
                 before < MEMBER_STARTED ? "" : " was lost", text);
        host_end(r, m, STATUS_OURS, result);
    } else if (r->state <= JOB_ROUND_PREPARING) {
        if (!m->failed)
            member_fail(m, m->channel ? agent_channel_outlook(m->channel) : CHANNEL_MAY_NOT_RETURN,
                        text);
        progress_line_step(r->progress);
    } else if (m->is_arriving && job_round_state_is_running(r)) {
        job_round_hosts_on_end(r, m, before, text);
    } else if (r->state < JOB_ROUND_LEAVING && !(m->is_arriving && before < MEMBER_STARTED) &&
               (before < MEMBER_DONE || has_coordinator_for(r, m))) {
        const char *name = m->host->name;

        events_file_write(r->config.events, "lost", r->identity.id,
                          json_pack("{s:s, s:o}", "host", name, "text", text_json(text)));
        if (r->cause != STOP_NONE)
            log_warn("host %s was lost: %s", name, text);
        if (r->plan->job.elastic) {
            job_round_hosts_lose(r, m, text);
        } else {
            first_failure_lost(&r->failure, BLAME_CAUSE, name, text);
            job_round_losses_end_all(r, m);
            job_round_phases_on_failure(r, false);
        }
    }
    hang_watch_lost(r->hang, host);
    round_change_start(r);
    job_round_hosts_start(r);
    job_round_phases_advance(r);
}

/* The rank exists and runs on this member's host. */
static bool is_rank_of(const struct job_round *r, const struct job_round_member *m, uint32_t rank)
{
    return rank < (uint32_t)r->plan->size && &r->members[r->plan->ranks[rank].host] == m;
}

/* Asks the agent for its time, if the times of its ranks' calls are wanted. Agents here have this
 * machine's clock. */
static void time_ask(const struct job_round *r, int host)
{
    if (r->config.recording && r->members[host].host->launch_method != LAUNCH_METHOD_LOCAL)
        agent_session_ask_time(r->session, host);
}

int job_round_frames_on_hello(int host, const struct hello_report *hello, void *arg,
                              struct fault *why)
{
    struct job_round *r = arg;
    struct job_round_member *m = &r->members[host];
    struct utsname here;

    uname(&here);
    if (strcmp(hello->arch, here.machine) != 0 && (r->plan->files.count > 0 || r->copy))
        return fault_set(why, ML_ERR_REFUSED,
                         "its processor is %s, this machine's is %s, so what %s copies from "
                         "here does not run there: install the program on each host instead",
                         hello->arch, here.machine, r->copy ? "--stage-env" : "--stage");
    progress_line_step(r->progress);
    /* Only SSH gives an address that is known to work. An agent that was started otherwise guesses
     * its own. */
    snprintf(m->address, sizeof(m->address), "%s",
             m->host->launch_method == LAUNCH_METHOD_SRUN ||
                     m->host->launch_method == LAUNCH_METHOD_COMMAND ||
                     m->host->launch_method == LAUNCH_METHOD_JOIN
                 ? hello->guess
                 : hello->address);
    m->state = MEMBER_CONNECTED;
    time_ask(r, host);
    log_info("host %s: connected, agent %lld", m->host->name, (long long)hello->pid);
    events_file_write(
        r->config.events, "connected", r->identity.id,
        json_pack("{s:s, s:I}", "host", m->host->name, "pid", (json_int_t)hello->pid));
    if (host >= r->plan->host_count)
        return round_change_host_greeted(r, why);
    if (m->is_arriving && !r->stop_wanted)
        return job_round_hosts_on_hello(r, m, why);
    if (r->config.results)
        return job_round_steps_prepare_host(r, host, why);
    job_round_phases_advance(r);
    return 0;
}

static void on_warning(const char *text, void *arg)
{
    const struct job_round_member *m = arg;

    log_warn("host %s: %s", m->host->name, text);
}

static bool has_failed_member(const struct job_round *r)
{
    for (int i = 0; i < r->plan->host_count; i++)
        if (r->members[i].failed)
            return true;
    return false;
}

void job_round_frames_on_surveyed(void *arg)
{
    struct job_round *r = arg;
    struct fault why;
    int culprit = 0;

    if (r->state != JOB_ROUND_SURVEYING)
        return;
    if (has_failed_member(r)) {
        log_debug("job %s: not all hosts have answered", r->identity.id);
    } else if (topology_survey_conclude(r->survey, &culprit, &why)) {
        r->topology_failed = true;
        r->members[culprit].status = STATUS_OURS;
        member_fail(&r->members[culprit], CHANNEL_MAY_NOT_RETURN, why.text);
    } else {
        json_decref(r->wiring);
        r->wiring = json_incref(topology_survey_wiring(r->survey));
    }
    job_round_phases_advance(r);
}

static bool is_preparing(const struct job_round *r, const struct job_round_member *m)
{
    return r->state == JOB_ROUND_PREPARING ||
           ((r->config.results || m->is_arriving) && m->state == MEMBER_CONNECTED);
}

/* Sends the host what it may get now. Each sign that it takes files gives all hosts more time. */
static int files_send(struct job_round *r, struct job_round_member *m, struct fault *why)
{
    int rc = is_preparing(r, m) ? file_feed_send(m->feed, why) : 0;

    if (!rc && is_preparing(r, m)) /* still, for a send may find the channel's end */
        job_round_steps_await_ready(r);
    return rc;
}

static int on_want(struct job_round *r, struct job_round_member *m, const struct frame *f,
                   struct fault *why)
{
    int *wanted = calloc((size_t)r->plan->files.count + 1, sizeof(*wanted)), count = 0, rc;

    if (!wanted)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else if (r->state < JOB_ROUND_PREPARING || m->feed ||
             m->host->launch_method == LAUNCH_METHOD_LOCAL)
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected WANT");
    else
        rc = want_report_parse(wanted, &count, f, r->plan->files.count, why);
    if (!rc)
        rc = file_feed_create(&m->feed, &r->plan->files, m->channel, wanted, count, why);
    free(wanted);
    return rc ? rc : files_send(r, m, why);
}

static int on_file_credit(struct job_round *r, struct job_round_member *m, const struct frame *f,
                          struct fault *why)
{
    uint32_t bytes;

    if (f->size != sizeof(bytes) || !m->feed)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected FILE_CREDIT");
    memcpy(&bytes, f->payload, sizeof(bytes));
    if (file_feed_acknowledge(m->feed, ntohl(bytes), why))
        return why->code;
    return files_send(r, m, why);
}

static int on_place(struct job_round *r, struct job_round_member *m, const struct frame *f,
                    struct fault *why)
{
    const struct host *h = m->host;
    char directory[PATH_MAX];
    struct env_copy_place place = {.host = h,
                                   .channel = m->channel,
                                   .ip = h->ips && h->ips[0] ? h->ips[0] : m->address,
                                   .directory = directory};
    int rc;

    if (!r->copy || r->state < JOB_ROUND_PREPARING)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected PLACE");
    rc = place_report_parse(directory, &place.is_kept, f, why);
    return rc ? rc : env_copy_place(copy_of(m), (int)(m - r->members), &place, why);
}

/* Each sign that a host goes on gives all more time. */
static int on_sync(struct job_round *r, struct job_round_member *m, const struct frame *f,
                   struct fault *why)
{
    int rc = r->copy ? env_copy_take(copy_of(m), (int)(m - r->members), f, why)
                     : fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected SYNC");

    if (!rc && is_preparing(r, m))
        job_round_steps_await_ready(r);
    return rc;
}

void job_round_frames_on_copied(uint64_t lost, void *arg)
{
    struct job_round *r = arg;

    if (r->state != JOB_ROUND_PREPARING)
        return;
    if (lost > 0) {
        log_error("--stage-env: files in %s have changed while they were copied, or cannot be "
                  "read: start the job again when nobody writes there",
                  r->plan->stage_env);
        r->stop_wanted = true;
        job_round_phases_advance(r);
        return;
    }
    for (int i = 0; i < r->plan->host_count; i++) {
        env_copy_report(r->copy, i);
        agent_channel_send(r->members[i].channel, LAUNCH_STAGED, NULL, 0);
    }
    job_round_steps_await_ready(r);
}

void job_round_frames_on_pulse(void *arg)
{
    const struct job_round *r = arg;

    env_copy_pulse(r->copy);
    for (int i = 0; i < job_round_members(r); i++)
        env_copy_pulse(r->members[i].copy);
}

static int on_ready(struct job_round *r, struct job_round_member *m, const struct frame *f,
                    struct fault *why)
{
    struct ready_report ready;

    if (ready_report_parse(&ready, f, on_warning, m, why))
        return why->code;
    if (m == &r->members[r->plan->ranks[0].host] && !m->is_arriving)
        snprintf(r->coordinator, sizeof(r->coordinator), "%s", ready.coordinator);
    if (m - r->members < r->plan->host_count)
        job_round_hosts_keep(r, m, ready.keeper);
    else
        snprintf(m->keeper, sizeof(m->keeper), "%s", ready.keeper);
    r->is_pmix |= ready.is_pmix;
    r->needs_pmix |= ready.needs_pmix;
    r->ports_taken |= (unsigned)ready.ports_taken;
    if (r->ports_taken == (1U << JOB_PORTS) - 1)
        return fault_set(why, ML_ERR_SYSTEM,
                         "{port}: each of the %d ports that it may be is taken there or on a host "
                         "before it; start the job again, which tries others, or move them by "
                         "--starting-port",
                         JOB_PORTS);
    if (m->feed)
        file_feed_report(m->feed, m->host->name);
    m->state = MEMBER_PREPARED;
    if (m - r->members >= r->plan->host_count)
        return 0; /* mlaunch grow lets it come */
    if (m->is_arriving && !r->stop_wanted)
        job_round_hosts_on_ready(r, m);
    else if (r->config.results && r->state == JOB_ROUND_RUNNING) /* an independent host */
        job_round_steps_start_host(r, (int)(m - r->members));
    return 0;
}

static void host_refuse(struct job_round *r, struct job_round_member *m)
{
    char text[sizeof(m->reason) + 300];

    snprintf(text, sizeof(text), "host %s: %s", m->host->name, m->reason);
    host_end(r, m, m->status, text);
}

static int on_refused(struct job_round *r, struct job_round_member *m, const struct frame *f,
                      struct fault *why)
{
    struct refused_report refused;

    if (refused_report_parse(&refused, f, why))
        return why->code;
    m->status = refused.status;
    member_fail(m, refused.status == STATUS_OURS ? CHANNEL_MAY_NOT_RETURN : CHANNEL_STAYS_WRONG,
                refused.text);
    if (r->config.results)
        host_refuse(r, m);
    else if (m->is_arriving)
        agent_channel_shut(m->channel);
    return 0;
}

static int on_started(struct job_round *r, struct job_round_member *m, const struct frame *f,
                      struct fault *why)
{
    struct started_report started;

    if (started_report_parse(&started, f, r->plan->size, why))
        return why->code;
    if (!is_rank_of(r, m, (uint32_t)started.rank)) {
        free(started.binding);
        return fault_set(why, ML_ERR_REFUSED, "its agent reported a rank of another host");
    }
    memset(r->ranks[started.rank].is_closed, 0, sizeof(r->ranks[started.rank].is_closed));
    r->ranks_started += r->ranks[started.rank].pid == 0;
    r->ranks[started.rank].pid = started.pid;
    log_debug("rank %d on host %s: started, pid %lld", started.rank, m->host->name,
              (long long)started.pid);
    if (started.binding)
        output_say(r->config.output, "rank %d on host %s: %s", started.rank, m->host->name,
                   started.binding);
    events_file_write(r->config.events, "started", r->identity.id,
                      json_pack("{s:i, s:s, s:I, s:s*}", "rank", started.rank, "host",
                                m->host->name, "pid", (json_int_t)started.pid, "binding",
                                started.binding));
    free(started.binding);
    if (r->config.on_rank_changed)
        r->config.on_rank_changed(r->config.arg);
    if (r->ranks_started == r->plan->size) {
        r->ranks_started = -1; /* an agent may say it twice */
        r->config.on_started(r->config.arg);
    }
    return 0;
}

/* An agent that sends more than it may would fill the memory here. */
static int output_check(struct job_round *r, struct job_round_member *m, uint32_t rank, int stream,
                        size_t size, struct fault *why)
{
    bool *is_closed = &r->ranks[rank].is_closed[stream - 1];

    m->unacknowledged += agent_output_cost(size);
    if (*is_closed)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent OUTPUT of a stream that had ended");
    if (m->unacknowledged > AGENT_OUTPUT_WINDOW)
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent sent more OUTPUT than it may without CREDIT");
    *is_closed = size == 0;
    return 0;
}

static int on_output(struct job_round *r, struct job_round_member *m, const struct frame *f,
                     struct fault *why)
{
    uint32_t rank = 0;
    int rc;

    if (f->size >= 5) {
        memcpy(&rank, f->payload, sizeof(rank));
        rank = ntohl(rank);
    }
    if (f->size < 5 || !is_rank_of(r, m, rank) || f->payload[4] < 1 || f->payload[4] > 2)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed OUTPUT");
    hang_watch_moved(r->hang);
    rc = output_check(r, m, rank, f->payload[4], f->size - 5, why);
    if (!rc)
        output_write(r->config.output, (int)(m - r->members), (int)rank, f->payload[4],
                     f->payload + 5, f->size - 5);
    return rc;
}

/* Reads the ranges, which rise and are of this host's ranks, whose streams are open. Returns how
 * many bytes the head takes; 0: it is malformed. */
static size_t folded_ranges_read(struct job_round *r, const struct job_round_member *m,
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
            ranges[i].last >= (uint32_t)r->plan->size)
            return 0;
        next = ranges[i].last + 1;
        for (uint32_t k = ranges[i].first; k <= ranges[i].last; k++)
            if (!is_rank_of(r, m, k) || r->ranks[k].is_closed[f->payload[0] - 1])
                return 0;
    }
    return ranges ? at : 0;
}

static int on_folded(struct job_round *r, struct job_round_member *m, const struct frame *f,
                     struct fault *why)
{
    struct line_range *ranges = NULL;
    uint32_t count = 0;
    size_t head = r->plan->output == OUTPUT_FOLD ? folded_ranges_read(r, m, f, &ranges, &count) : 0;
    int last = head ? f->payload[f->size - 1] : 0;
    int rc = 0;

    if (last != '\n' && last != '\r')
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed FOLDED");
    m->unacknowledged += agent_output_cost(f->size);
    if (!rc && m->unacknowledged > AGENT_OUTPUT_WINDOW)
        rc =
            fault_set(why, ML_ERR_REFUSED, "its agent sent more OUTPUT than it may without CREDIT");
    hang_watch_moved(r->hang);
    if (!rc)
        output_write_folded(r->config.output, (int)(m - r->members),
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

static int on_exited(struct job_round *r, struct job_round_member *m, const struct frame *f,
                     struct fault *why)
{
    struct exited_report e;
    char text[1024];
    bool is_outlived; /* if enough others live */
    bool was_coming;
    enum blame blame;

    if (exited_report_parse(&e, f, r->plan->size, why))
        return why->code;
    if (!is_rank_of(r, m, (uint32_t)e.rank))
        return fault_set(why, ML_ERR_REFUSED, "its agent reported a rank of another host");
    if (r->ranks[e.rank].ended || m->is_arriving)
        return 0;
    events_file_write(r->config.events, "exited", r->identity.id, exited_json(&e, m->host->name));
    rank_summary_add(r->config.summary, &e);
    if (r->config.results) {
        host_result_exited(r, &e, m->host->name);
        job_round_losses_end(r, e.rank);
        return 0;
    }
    first_failure_describe(text, sizeof(text), &e, m->host->name);
    was_coming = r->ranks[e.rank].is_coming;
    blame = r->ranks[e.rank].is_unneeded || r->ranks[e.rank].is_leaving
                ? BLAME_NONE
                : first_failure_exited(&r->failure, &e, m->host->name);
    /* One that was to become a member has lost nothing that was its own, and no program kills
     * itself because it has lost a peer. */
    is_outlived = (blame == BLAME_CAUSE ||
                   (blame == BLAME_CONSEQUENCE && (was_coming || e.signal == SIGKILL))) &&
                  r->plan->job.elastic && (!e.error[0] || r->ranks[e.rank].restarts > 0);
    if (blame != BLAME_NONE && r->failure.rank == e.rank) /* the whole sentence is the verdict */
        log_info("rank %d on host %s: ended, %s %d", e.rank, m->host->name,
                 e.signal ? "signal" : "status", e.signal ? e.signal : e.status);
    else
        log_info("%s", text);
    if (is_outlived && job_round_losses_replace(r, e.rank, text))
        return 0;
    job_round_losses_vacate(r, e.rank);
    job_round_losses_end(r, e.rank);
    if (is_outlived)
        job_round_losses_die(r, 1, text, r->ranks[e.rank].is_left_out || was_coming);
    else if (blame == BLAME_NONE && r->ranks_left == r->coming)
        job_round_losses_forget(r);
    if (blame != BLAME_NONE || r->ranks_left == 0)
        job_round_phases_on_failure(r, is_outlived || !r->plan->job.elastic);
    job_round_losses_end_coming(r);
    /* The others may go on for long; what is said at their end comes too late. */
    if (blame == BLAME_CAUSE && r->plan->options->on_failure == FAILURE_CONTINUE &&
        r->ranks_left > 0 && log_level() < LOG_INFO)
        log_warn("%s", text);
    return 0;
}

static int on_aborted(struct job_round *r, struct job_round_member *m, const struct frame *f,
                      struct fault *why)
{
    struct aborted_report aborted;
    const char *host;

    if (aborted_report_parse(&aborted, f, r->plan->size, why))
        return why->code;
    /* ml_abort is reported by the coordinator, which speaks for the ranks of all hosts. */
    if (!m->had_coordinator && !is_rank_of(r, m, (uint32_t)aborted.rank))
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent reported an abort by a rank of another host");
    host = r->members[r->plan->ranks[aborted.rank].host].host->name;
    if (r->ranks[aborted.rank].aborted)
        return 0; /* said before */
    r->ranks[aborted.rank].aborted = true;
    first_failure_aborted(&r->failure, &aborted, host, r->ranks[aborted.rank].pid);
    job_round_phases_on_failure(r, false);
    return 0;
}

static int on_stdin_credit(struct job_round *r, struct job_round_member *m, const struct frame *f,
                           struct fault *why)
{
    uint32_t words[2];

    if (f->size == sizeof(words))
        memcpy(words, f->payload, sizeof(words));
    if (f->size != sizeof(words) || !is_rank_of(r, m, ntohl(words[0])))
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed STDIN_CREDIT");
    input_on_credit(r->config.input, (int)ntohl(words[0]), ntohl(words[1]));
    return 0;
}

static int on_note(struct job_round *r, struct job_round_member *m, const struct frame *f,
                   struct fault *why)
{
    struct note_report note;

    if (note_report_parse(&note, f, why))
        return why->code;
    if (!output_is_behind(r->config.output)) {
        log_at(note.level, "%s%s%s%s", note.names_host ? "" : "host ",
               note.names_host ? "" : m->host->name, note.names_host ? "" : ": ", note.text);
    } else if (!m->is_cut) {
        m->is_cut = true;
        log_warn("host %s: its agent says more than is read here; some of it is left out",
                 m->host->name);
    }
    if (note.is_stall && r->state == JOB_ROUND_RUNNING)
        hang_watch_stalled(r->hang);
    return 0;
}

/* LOST: the agent still works, but can no longer supervise its ranks. KILLED: `mlaunch kill` was
 * used; nothing has failed, but the job is over. */
static int on_lost(struct job_round *r, struct job_round_member *m, const struct frame *f,
                   struct fault *why)
{
    bool is_killed = f->type == AGENT_KILLED;
    char text[1024];
    struct lost_report lost;

    if (lost_report_parse(&lost, f, why))
        return why->code;
    if (r->state <= JOB_ROUND_PREPARING || m->state < MEMBER_STARTED) {
        member_fail(m, CHANNEL_MAY_RETURN, lost.text);
        if (r->config.results)
            host_refuse(r, m);
        else if (m->is_arriving)
            agent_channel_shut(m->channel);
        return 0;
    }
    if (r->config.results) {
        snprintf(text, sizeof(text), "%s%s%s%s", is_killed ? "" : "host ",
                 is_killed ? "" : m->host->name, is_killed ? "" : " was lost: ", lost.text);
        host_end(r, m, is_killed ? STATUS_SIGNAL + SIGTERM : STATUS_OURS, text);
        return 0;
    }
    if (r->plan->job.elastic && !is_killed && !r->stop_wanted) {
        if (lost.coordinator[0])
            job_round_hosts_cut_off(r, m, &lost);
        else
            job_round_hosts_give_up(r, m, lost.text, lost.is_leaving);
        return 0;
    }
    events_file_write(r->config.events, is_killed ? "killed" : "lost", r->identity.id,
                      json_pack("{s:s, s:o}", "host", m->host->name, "text", text_json(lost.text)));
    if (is_killed && !r->failure.is_killed && r->cause == STOP_NONE)
        output_say(r->config.output, "%s", lost.text);
    if (lost.by_slurm && !r->stop_wanted)
        r->cause = STOP_SLURM;
    if (is_killed)
        first_failure_killed(&r->failure, lost.text);
    else
        first_failure_lost(&r->failure, lost.coordinator[0] ? BLAME_CUT_OFF : BLAME_CAUSE,
                           m->host->name, lost.text);
    job_round_phases_on_failure(r, false);
    return 0;
}

static int on_asked(struct job_round *r, struct job_round_member *m, const struct frame *f,
                    struct fault *why)
{
    struct lost_report asked;

    (void)m;
    if (lost_report_parse(&asked, f, why))
        return why->code;
    if (r->state == JOB_ROUND_RUNNING)
        r->config.on_asked(asked.text, r->config.arg);
    return 0;
}

/* It comes from the coordinator for ranks that talk to it. */
static int on_alone(struct job_round *r, struct job_round_member *m, const struct frame *f,
                    struct fault *why)
{
    struct alone_report alone;
    const char *host;

    (void)m;
    if (alone_report_parse(&alone, f, r->plan->size, why))
        return why->code;
    host = r->members[r->plan->ranks[alone.rank].host].host->name;
    if (alone.text[0])
        log_warn("rank %d on host %s: what it keeps is kept in memory on one host only: %s",
                 alone.rank, host, alone.text);
    else
        log_info("rank %d on host %s: what it keeps is on two hosts again", alone.rank, host);
    events_file_write(r->config.events, "kept", r->identity.id,
                      json_pack("{s:i, s:s, s:i, s:o}", "rank", alone.rank, "host", host, "hosts",
                                alone.text[0] ? 1 : 2, "text", text_json(alone.text)));
    return 0;
}

/* The copies that it held are still there, but the ranks make them anew with the next one. */
static int on_keeper(struct job_round *r, struct job_round_member *m, const struct frame *f,
                     struct fault *why)
{
    struct keeper_report keeper;

    if (keeper_report_parse(&keeper, f, why))
        return why->code;
    log_warn("host %s: %s", m->host->name, keeper.text);
    events_file_write(r->config.events, "keeper", r->identity.id,
                      json_pack("{s:s, s:s, s:o}", "host", m->host->name, "address", keeper.address,
                                "text", text_json(keeper.text)));
    if (m - r->members < r->plan->host_count)
        job_round_hosts_keep(r, m, keeper.address);
    else
        snprintf(m->keeper, sizeof(m->keeper), "%s", keeper.address);
    return 0;
}

static int on_met(struct job_round *r, struct job_round_member *m, const struct frame *f,
                  struct fault *why)
{
    (void)f, (void)why;
    r->has_met |= m == &r->members[r->coordinator_host];
    return 0;
}

static int on_grew(struct job_round *r, struct job_round_member *m, const struct frame *f,
                   struct fault *why)
{
    uint32_t rank;

    if (f->size == sizeof(rank))
        memcpy(&rank, f->payload, sizeof(rank));
    if (f->size != sizeof(rank) || ntohl(rank) != (uint32_t)m->ranks_known ||
        m->ranks_known >= r->plan->size)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected GREW");
    m->ranks_known++;
    round_change_start(r);
    return 0;
}

static void on_survivor(int64_t pid, const char *text, void *arg)
{
    struct job_round_member *m = arg;

    m->is_littered = true;
    log_warn("host %s: process %lld could not be ended: %s", m->host->name, (long long)pid, text);
}

static int on_done(struct job_round *r, struct job_round_member *m, const struct frame *f,
                   struct fault *why)
{
    struct done_report done;

    if (done_report_parse(&done, f, on_survivor, m, why))
        return why->code;
    if (done.threads > r->crowded.threads) {
        r->crowded = done;
        r->crowded_host = m->host->name;
    }
    if (r->config.results)
        host_result_fail(r, m, STATUS_OURS, NULL); /* EXITED has come, unless it was stopped */
    m->state = MEMBER_DONE;
    if (m->is_arriving) /* another host is to take its place */
        agent_channel_send(m->channel, LAUNCH_BYE, NULL, 0);
    else
        job_round_losses_end_all(r, m);
    job_round_hosts_done(r, m);
    job_round_hosts_start(r);
    return 0;
}

static int on_calls(struct job_round *r, struct job_round_member *m, const struct frame *f,
                    struct fault *why)
{
    struct rank_call *calls; /* a copy, since what comes is not aligned */
    struct calls_head head = {0};
    size_t size, count;

    if (f->size >= sizeof(head))
        memcpy(&head, f->payload, sizeof(head));
    if (f->size < sizeof(head) || (f->size - sizeof(head)) % sizeof(*calls) ||
        !is_rank_of(r, m, head.rank))
        return fault_set(why, ML_ERR_REFUSED, "its agent sent malformed CALLS");
    size = f->size - sizeof(head);
    calls = malloc(size + 1);
    if (!calls)
        return 0;
    memcpy(calls, f->payload + sizeof(head), size);
    count = size / sizeof(*calls);
    call_log_add(r->calls, (int)head.rank, head.made, calls, count);
    recording_add(r->config.recording, (int)head.rank, r->config.restart, &m->clock, calls, count,
                  head.is_last);
    free(calls);
    return 0;
}

/* The states of a member in which each frame is valid. */
static const struct frame_rule {
    enum agent_frame type;
    const char *name;
    enum job_round_member_state from, to;
    int (*handle)(struct job_round *r, struct job_round_member *m, const struct frame *f,
                  struct fault *why);
} rules[] = {
    {AGENT_WANT, "WANT", MEMBER_CONNECTED, MEMBER_CONNECTED, on_want},
    {AGENT_FILE_CREDIT, "FILE_CREDIT", MEMBER_CONNECTED, MEMBER_CONNECTED, on_file_credit},
    {AGENT_PLACE, "PLACE", MEMBER_CONNECTED, MEMBER_CONNECTED, on_place},
    {AGENT_SYNC, "SYNC", MEMBER_CONNECTED, MEMBER_CONNECTED, on_sync},
    {AGENT_READY, "READY", MEMBER_CONNECTED, MEMBER_CONNECTED, on_ready},
    {AGENT_REFUSED, "REFUSED", MEMBER_OPENING, MEMBER_PREPARED, on_refused},
    {AGENT_STARTED, "STARTED", MEMBER_STARTED, MEMBER_STARTED, on_started},
    {AGENT_OUTPUT, "OUTPUT", MEMBER_STARTED, MEMBER_DONE, on_output},
    {AGENT_FOLDED, "FOLDED", MEMBER_STARTED, MEMBER_DONE, on_folded},
    {AGENT_EXITED, "EXITED", MEMBER_STARTED, MEMBER_STARTED, on_exited},
    {AGENT_STDIN_CREDIT, "STDIN_CREDIT", MEMBER_STARTED, MEMBER_DONE, on_stdin_credit},
    {AGENT_ABORTED, "ABORTED", MEMBER_STARTED, MEMBER_DONE, on_aborted}, /* another host's rank */
    {AGENT_NOTE, "NOTE", MEMBER_OPENING, MEMBER_DONE, on_note},
    {AGENT_LOST, "LOST", MEMBER_OPENING, MEMBER_DONE, on_lost},
    {AGENT_KILLED, "KILLED", MEMBER_OPENING, MEMBER_DONE, on_lost},
    {AGENT_ASKED, "ASKED", MEMBER_STARTED, MEMBER_DONE, on_asked},
    {AGENT_COORDINATES, "COORDINATES", MEMBER_STARTED, MEMBER_STARTED,
     job_round_hosts_on_coordinates},
    {AGENT_MET, "MET", MEMBER_STARTED, MEMBER_DONE, on_met},
    {AGENT_GREW, "GREW", MEMBER_STARTED, MEMBER_DONE, on_grew},
    {AGENT_WIRED, "WIRED", MEMBER_PREPARED, MEMBER_DONE, job_round_hosts_on_wired},
    {AGENT_UNREACHED, "UNREACHED", MEMBER_STARTED, MEMBER_DONE, job_round_hosts_on_unreached},
    {AGENT_ALONE, "ALONE", MEMBER_STARTED, MEMBER_DONE, on_alone},
    {AGENT_KEEPS, "KEEPS", MEMBER_PREPARED, MEMBER_STARTED, on_keeper},
    {AGENT_REPAIRED, "REPAIRED", MEMBER_STARTED, MEMBER_DONE, job_round_losses_on_repaired},
    {AGENT_DONE, "DONE", MEMBER_STARTED, MEMBER_STARTED, on_done},
    {AGENT_CALLS, "CALLS", MEMBER_STARTED, MEMBER_STARTED, on_calls},
};

int job_round_frames_on_frame(int host, const struct frame *f, void *arg, struct fault *why)
{
    struct job_round *r = arg;
    struct job_round_member *m = &r->members[host];
    int rc;

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (rules[i].type == f->type && m->state >= rules[i].from && m->state <= rules[i].to) {
            bool is_data = f->type == AGENT_OUTPUT || f->type == AGENT_FOLDED ||
                           f->type == AGENT_STDIN_CREDIT || f->type == AGENT_FILE_CREDIT ||
                           f->type == AGENT_SYNC;

            if (!is_data)
                log_debug("host %s: its agent sent %s", m->host->name, rules[i].name);
            rc = rules[i].handle(r, m, f, why);
            if (!rc && r->growth.plan)
                round_change_start(r);
            if (!rc && !is_data)
                job_round_phases_advance(r);
            return rc;
        }
    }
    return agent_session_refuse(f, why);
}

/* While the ranks run: where they are. */
int job_round_frames_on_answer(int host, json_t *said, void *arg, struct fault *why)
{
    struct job_round *r = arg;

    (void)why;
    hang_watch_answer(r->hang, host, said);
    return 0;
}

/* The payload is empty, or the time that the PING had and the agent's. */
void job_round_frames_on_pong(int host, const struct frame *f, void *arg)
{
    struct job_round *r = arg;
    struct job_round_member *m = &r->members[host];
    int64_t times[2], now = clock_ns();

    if (f->size == sizeof(times)) {
        memcpy(times, f->payload, sizeof(times));
        if (times[0] > r->began_ns && times[0] <= now)
            clock_offset_add(&m->clock, times[0], now, times[1]);
        if (m->clock.trips < CLOCK_OFFSET_TRIPS && m->state < MEMBER_DONE)
            time_ask(r, host);
    }
}
