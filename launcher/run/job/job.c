/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job.h"

#include "common/log.h"
#include "common/net/stranger_limits.h"
#include "common/status.h"
#include "launcher/run/change/job_changes.h"
#include "launcher/run/job/job_end.h"
#include "launcher/run/job/job_hub.h"
#include "launcher/run/job/job_presence.h"
#include "launcher/run/job/job_runs.h"
#include "launcher/run/job/job_supervisor.h"
#include "launcher/run/job/signals.h"
#include "launcher/run/job/soft_stop.h"
#include "launcher/run/record/recording.h"
#include "launcher/run/round/job_round.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/rank_summary.h"
#include "launcher/run/stdio/terminal.h"
#include "launcher/wire/protocol/frame_stream.h"

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STATUS_DIFFERS = 1 /* the job went well, but not as --compare-hashes has it */ };

/* The most that a host needs: the channel, its bell, its thread's wake-up and SSH's socket; while
 * connecting also those of ssh-agent, a proxy and the file to be copied. */
enum { DESCRIPTORS_PER_HOST = 12, DESCRIPTORS_OF_OUR_OWN = 64 };

/* Where hosts call: each of them, and as many strangers as are let in. */
static rlim_t uplink_descriptors(const struct plan *p)
{
    const struct options *o = p->options;

    return o->await || o->fanout ? STRANGERS_UPLINK + 3 * (rlim_t)(o->await + p->where->host_count)
                                 : 0;
}

/* Allows as many descriptors as hosts and files need, and no more: local ranks inherit the limit,
 * and some programs try every number up to it. */
static void descriptor_limit_raise(const struct plan *p)
{
    rlim_t need = DESCRIPTORS_OF_OUR_OWN + uplink_descriptors(p) +
                  DESCRIPTORS_PER_HOST * (rlim_t)p->where->host_count + (rlim_t)p->files.count +
                  (p->output == OUTPUT_DIR ? 2 * (rlim_t)p->where->size : 0);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
        return;
    if (need > limit.rlim_max) {
        log_warn("this job may need %llu open files, the limit is %llu (ulimit -n)",
                 (unsigned long long)need, (unsigned long long)limit.rlim_max);
        need = limit.rlim_max;
    }
    log_debug("raising the limit of open files to %llu", (unsigned long long)need);
    limit.rlim_cur = need;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_output_failed(const struct fault *why, void *arg)
{
    struct job *j = arg;

    if (why->code == ML_ERR_PEER) { /* as in `mlaunch … | head -1`: no error */
        job_end_stop(j, STOP_READER_GONE, SIGPIPE);
        return;
    }
    log_error("%s", why->text);
    job_end_stop(j, STOP_OUTPUT_FAILED, SIGTERM);
}

static void on_credit(int host, uint32_t bytes, void *arg)
{
    struct job *j = arg;

    if (j->runs.round)
        job_round_on_credit(j->runs.round, host, bytes);
}

static void on_written(void *arg)
{
    struct job *j = arg;

    if (j->config.on_written)
        j->config.on_written(j->config.arg);
}

static void on_stdin(int rank, const void *bytes, size_t size, void *arg)
{
    struct job *j = arg;

    if (size && ((const char *)bytes)[size - 1] == '\n' && isatty(STDIN_FILENO))
        output_on_typed_line(j->output);
    if (j->runs.round)
        job_round_on_stdin(j->runs.round, rank, bytes, size);
}

static void on_size(struct terminal_size size, void *arg)
{
    struct job *j = arg;

    if (j->runs.round)
        job_round_on_resize(j->runs.round, size);
}

static void on_grown(void *arg)
{
    const struct job *j = arg;

    descriptor_limit_raise(j->plan);
    job_presence_renew(j->presence);
}

/* The job runs without it, if it must. */
static void changes_open(struct job *j)
{
    const struct job_changes_config config = {.base = j->base,
                                              .plan = j->plan,
                                              .job = j->id,
                                              .round = &j->runs.round,
                                              .on_grown = on_grown,
                                              .arg = j};
    struct fault why;

    if (job_changes_open(&j->changes, &config, &why))
        log_warn("this job cannot be changed while it runs: %s", why.text);
}

static int job_open(struct job *j, struct fault *why)
{
    const struct output_events events = {on_credit, on_output_failed, on_written, j};
    int rc;

    j->base = event_base_new();
    if (!j->base)
        return fault_set(why, ML_ERR_SYSTEM, "cannot make an event loop");
    rc = job_hub_open(&j->hub, j->base, j->plan, why);
    if (!rc)
        rc = job_presence_open(&j->presence, j->base, j->plan, j->id, why);
    if (!rc)
        rc = events_file_open(&j->events, j->plan->options->events, j->plan->job.name, why);
    if (!rc)
        rc = recording_open(&j->recording, j->plan, why);
    if (!rc && j->plan->options->pty)
        rc = terminal_open(&j->terminal, j->base, on_size, j, why);
    if (!rc)
        rc = output_open(&j->output, j->base, j->plan, j->id, j->terminal, j->config.sink, &events,
                         why);
    if (!rc)
        rc = input_open(&j->input, j->base, j->plan, input_mode(j->plan), on_stdin, j, why);
    if (!rc)
        input_use_terminal(j->input, j->terminal);
    if (!rc)
        rc = soft_stop_open(&j->soft_stop,
                            &(struct soft_stop_config){.base = j->base,
                                                       .plan = j->plan,
                                                       .job = j->id,
                                                       .output = j->output,
                                                       .events = j->events,
                                                       .on_late = job_end_on_late_stop,
                                                       .arg = j},
                            why);
    if (!rc && j->plan->job.elastic)
        changes_open(j);
    if (!rc)
        rc = signals_open(&j->signals, j->base, job_end_on_signal, j, why);
    if (rc)
        return rc;
    if (j->plan->options->summary || j->plan->options->evict_slow) {
        j->summary = rank_summary_create(j->plan);
        if (!j->summary)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    rc = job_end_open(j, why);
    return rc ? rc : job_runs_open(j, why);
}

/* Only if it does not block: standard error may be the very pipe that nobody reads. */
static void loss_report(size_t size)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
        log_warn("output that has not been read is dropped, at most %zu bytes", size);
}

/* `status`: mlaunch's. */
static void job_close(struct job *j, int status)
{
    bool is_lost = j->output && !output_is_idle(j->output);
    size_t size = is_lost ? output_waiting(j->output) : 0;

    job_changes_close(j->changes);
    job_presence_close(j->presence);
    signals_close(j->signals);
    soft_stop_close(j->soft_stop);
    input_close(j->input);
    output_close(j->output);
    terminal_close(j->terminal);
    if (is_lost)
        loss_report(size);
    else if (j->plan->options->summary && j->summary)
        rank_summary_print(j->summary);
    if (recording_close(j->recording, j->runs.have_begun))
        j->differs = true;
    events_file_close(j->events);
    rank_summary_destroy(j->summary);
    job_runs_close(j);
    job_end_close(j);
    job_hub_close(j->hub, status || !j->differs ? status : STATUS_DIFFERS);
    if (j->base)
        event_base_free(j->base);
}

int job_run(struct plan *p, const char *id, const struct job_config *config)
{
    struct job j = {.plan = p, .id = id};
    struct fault why;
    int status;

    if (config)
        j.config = *config;
    descriptor_limit_raise(p);
    frame_stream_keep_memory();
    if (job_open(&j, &why)) {
        job_close(&j, STATUS_OURS);
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    status = job_runs_all(&j);
    job_runs_drain(&j);
    job_close(&j, status);
    return status || !j.differs ? status : STATUS_DIFFERS;
}
