/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_jobs.h"

#include "common/text/object_field.h"
#include "launcher/tools/metrics/metric_page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NUMBER = 32 };

static const struct metric_family
    jobs = {"mlaunch_jobs", "gauge", "Jobs on the host, by their state in mlaunch ps."},
    orphans = {"mlaunch_orphan_processes", "gauge",
               "Processes that are left of jobs that are gone; mlaunch clean ends them."},
    job_info = {"mlaunch_job_info", "gauge", "A job with an agent on the host; always 1."},
    job_ranks = {"mlaunch_job_ranks", "gauge", "Ranks of the job, on all its hosts."},
    job_alive = {"mlaunch_job_ranks_alive", "gauge", "Ranks of the job that live on this host."},
    job_members = {"mlaunch_job_members", "gauge",
                   "With --elastic: members of the newest world that ranks of this host are in."},
    job_membership = {"mlaunch_job_membership", "gauge",
                      "With --elastic: how often the members have changed."},
    job_start = {"mlaunch_job_start_time_seconds", "gauge",
                 "When the job was started, in seconds since 1970."},
    job_memory = {"mlaunch_job_memory_bytes", "gauge",
                  "Resident memory of the job's processes on this host."},
    job_cpu = {"mlaunch_job_cpu_seconds_total", "counter",
               "Processor time of the control group that the job's agent is in."},
    job_cpu_limit = {"mlaunch_job_cpu_limit", "gauge",
                     "How many processors that control group, or one above it, may use."},
    job_group_memory = {"mlaunch_job_cgroup_memory_bytes", "gauge",
                        "Memory of that control group, with what it has cached of files."},
    job_memory_limit = {"mlaunch_job_memory_limit_bytes", "gauge",
                        "How much memory that control group, or one above it, may use."},
    job_killed = {"mlaunch_job_oom_kills_total", "counter",
                  "Processes of that control group that the kernel has ended for want of memory."},
    job_processes = {"mlaunch_job_processes", "gauge", "Processes of the job on this host."},
    rank_up = {"mlaunch_rank_up", "gauge", "1 if the rank's first process lives, else 0."},
    rank_cpu = {"mlaunch_rank_cpu_seconds_total", "counter",
                "Processor time of the rank's processes."},
    rank_memory = {"mlaunch_rank_memory_bytes", "gauge",
                   "Resident memory of the rank's processes."},
    rank_processes = {"mlaunch_rank_processes", "gauge", "Processes of the rank."},
    rank_stalled = {"mlaunch_rank_stalled", "gauge",
                    "1 if a call of mlaunch's library has waited for half a second or more."},
    rank_waiting = {"mlaunch_rank_waiting_seconds", "gauge",
                    "For how long such a call has been waiting."};

static const struct metric_family
    rank_calls = {"mlaunch_rank_calls_total", "counter",
                  "Calls of mlaunch's library that the rank has begun."},
    rank_call_bytes = {"mlaunch_rank_call_bytes_total", "counter",
                       "Bytes that collective calls were about: of the vector or of one share."},
    rank_wait = {"mlaunch_rank_wait_seconds", "histogram",
                 "Stretches in which a call had nothing to do but to wait for other ranks."},
    rank_sent = {"mlaunch_rank_sent_bytes_total", "counter",
                 "Bytes of the messages sent to the ranks of each host."},
    rank_received = {"mlaunch_rank_received_bytes_total", "counter",
                     "Bytes of the messages received from the ranks of each host."};

/* In the order of struct call_counters of the runtime, whose last one has no bound. */
static const char *const wait_bounds[] = {"1e-05", "0.0001", "0.001", "0.01",
                                          "0.1",   "1",      "10",    "+Inf"};
enum { WAIT_BOUNDS = sizeof(wait_bounds) / sizeof(*wait_bounds) };

/* Prometheus' buckets also have those below in them. */
static void waits_add(struct metric_page *p, const char *job, const char *rank, json_t *call)
{
    const char *name = object_field_text(call, "call");
    json_t *waits = json_object_get(call, "waits");
    double below = 0;

    if (json_array_size(waits) != WAIT_BOUNDS)
        return;
    for (size_t i = 0; i < WAIT_BOUNDS; i++) {
        below += json_number_value(json_array_get(waits, i));
        metric_page_add_part(p, &rank_wait, "_bucket", below, "job_id", job, "rank", rank, "call",
                             name, "le", wait_bounds[i], NULL);
    }
    metric_page_add_part(p, &rank_wait, "_sum", object_field_number(call, "wait_s"), "job_id", job,
                         "rank", rank, "call", name, NULL);
    metric_page_add_part(p, &rank_wait, "_count", below, "job_id", job, "rank", rank, "call", name,
                         NULL);
}

/* By algorithm, where there is a choice. A call that has not come to it is not in there yet: it
 * cannot be counted without one, since a counter must not fall. */
static void calls_add(struct metric_page *p, const char *job, const char *rank, json_t *call)
{
    const char *name = object_field_text(call, "call"), *algorithm;
    json_t *algorithms = json_object_get(call, "algorithms"), *count;

    if (json_object_size(algorithms) == 0)
        metric_page_add(p, &rank_calls, object_field_number(call, "count"), "job_id", job, "rank",
                        rank, "call", name, NULL);
    json_object_foreach(algorithms, algorithm, count)
    {
        metric_page_add(p, &rank_calls, json_number_value(count), "job_id", job, "rank", rank,
                        "call", name, "algorithm", algorithm, NULL);
    }
}

static void counters_add(struct metric_page *p, const char *job, const char *rank, json_t *counters)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(counters, "calls"), i, one)
    {
        const char *name = object_field_text(one, "call");

        calls_add(p, job, rank, one);
        if (object_field_number(one, "bytes") > 0)
            metric_page_add(p, &rank_call_bytes, object_field_number(one, "bytes"), "job_id", job,
                            "rank", rank, "call", name, NULL);
        waits_add(p, job, rank, one);
    }
    json_array_foreach(json_object_get(counters, "links"), i, one)
    {
        const char *host = object_field_text(one, "host"), *link = object_field_text(one, "link");

        metric_page_add(p, &rank_sent, object_field_number(one, "sent"), "job_id", job, "rank",
                        rank, "peer_host", host, "link", link, NULL);
        metric_page_add(p, &rank_received, object_field_number(one, "received"), "job_id", job,
                        "rank", rank, "peer_host", host, "link", link, NULL);
    }
}

static void job_sample(struct metric_page *p, const struct metric_family *family, json_t *job,
                       double value)
{
    metric_page_add(p, family, value, "job_id", object_field_text(job, "job"), "node",
                    object_field_text(job, "name"), NULL);
}

/* What the host does not have is missing. */
static void job_group_add(struct metric_page *p, json_t *job)
{
    static const struct {
        const struct metric_family *family;
        const char *key;
    } rows[] = {{&job_cpu, "cpu_s"},
                {&job_cpu_limit, "cpus"},
                {&job_group_memory, "memory_bytes"},
                {&job_memory_limit, "memory_limit_bytes"},
                {&job_killed, "killed"}};
    json_t *group = json_object_get(job, "cgroup"), *value;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        value = json_object_get(group, rows[i].key);
        if (json_is_number(value))
            job_sample(p, rows[i].family, job, json_number_value(value));
    }
}

/* For how long the rank's longest wait has lasted; its file says when it was reported. */
static double waits_longest(json_t *waits)
{
    double longest = 0, now = (double)time(NULL);
    json_t *wait;
    size_t i;

    json_array_foreach(waits, i, wait)
    {
        double since = object_field_number(wait, "since"), s = now - since;

        if (since > 0 && s > longest)
            longest = s;
    }
    return longest;
}

static void rank_add(struct metric_page *p, const char *job, json_t *rank)
{
    bool is_alive = strcmp(object_field_text(rank, "state"), "ended") != 0;
    json_t *waits = json_object_get(rank, "waits");
    char number[NUMBER];

    snprintf(number, sizeof(number), "%lld", object_field_whole(rank, "rank"));
    metric_page_add(p, &rank_up, is_alive, "job_id", job, "rank", number, NULL);
    if (!is_alive)
        return;
    metric_page_add(p, &rank_cpu, object_field_number(rank, "cpu_s"), "job_id", job, "rank", number,
                    NULL);
    metric_page_add(p, &rank_memory, object_field_number(rank, "memory_bytes"), "job_id", job,
                    "rank", number, NULL);
    metric_page_add(p, &rank_processes, object_field_number(rank, "processes"), "job_id", job,
                    "rank", number, NULL);
    metric_page_add(p, &rank_stalled, json_array_size(waits) > 0, "job_id", job, "rank", number,
                    NULL);
    metric_page_add(p, &rank_waiting, waits_longest(waits), "job_id", job, "rank", number, NULL);
    counters_add(p, job, number, json_object_get(rank, "counters"));
}

/* Adds a job if it lives here: what is left of others is in mlaunch_jobs. */
static void job_add(struct metric_page *p, json_t *job)
{
    const char *state = object_field_text(job, "state");
    json_t *rank;
    size_t i;

    if (strcmp(state, "live") != 0 && strcmp(state, "stopped") != 0)
        return;
    metric_page_add(p, &job_info, 1, "job_id", object_field_text(job, "job"), "node",
                    object_field_text(job, "name"), "user", object_field_text(job, "user"), "name",
                    object_field_text(job, "job_name"), "state", state, NULL);
    job_sample(p, &job_ranks, job, object_field_number(job, "size"));
    job_sample(p, &job_alive, job, object_field_number(job, "ranks_alive"));
    if (json_object_get(job, "members")) {
        job_sample(p, &job_members, job, object_field_number(job, "members"));
        job_sample(p, &job_membership, job, object_field_number(job, "membership"));
    }
    job_sample(p, &job_start, job, object_field_number(job, "started_at"));
    job_sample(p, &job_memory, job, object_field_number(job, "memory_bytes"));
    job_sample(p, &job_processes, job, object_field_number(job, "processes"));
    job_group_add(p, job);
    json_array_foreach(json_object_get(job, "ranks"), i, rank)
    {
        rank_add(p, object_field_text(job, "job"), rank);
    }
}

void metric_jobs_add(struct metric_page *p, json_t *said)
{
    static const char *const states[] = {"live", "stopped", "stale", "elsewhere", "unreadable"};
    json_t *list = json_object_get(said, "jobs"), *job;
    size_t i;

    if (!json_is_array(list))
        return;
    for (size_t s = 0; s < sizeof(states) / sizeof(*states); s++) {
        int count = 0;

        json_array_foreach(list, i, job)
        {
            count += strcmp(object_field_text(job, "state"), states[s]) == 0;
        }
        metric_page_add(p, &jobs, count, "state", states[s], NULL);
    }
    metric_page_add(p, &orphans, (double)json_array_size(json_object_get(said, "orphans")), NULL);
    json_array_foreach(list, i, job)
    {
        job_add(p, job);
    }
}
