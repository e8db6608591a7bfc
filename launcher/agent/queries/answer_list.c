/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer_list.h"

#include "common/clock.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "launcher/agent/evidence/evidence.h"
#include "launcher/agent/facts/fact_file.h"
#include "launcher/agent/host/cgroup_usage_linux.h"
#include "launcher/agent/queries/job_survey.h"
#include "launcher/agent/queries/kept_bytes.h"
#include "launcher/agent/queries/rank_counts.h"
#include "launcher/agent/stack/stack_linux.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STACKS_MS = 25000,   /* for all stacks of one host */
    NCCL_HOSTS_MOST = 4, /* whose ranks are asked for what they all know */
};

/* The sum over some processes. */
struct process_usage {
    int count;
    uint64_t cpu_ticks, child_ticks, memory;
    uint64_t oldest; /* start time, in ticks since boot */
};

static void usage_add(struct process_usage *u, const struct process *p)
{
    if (u->count == 0 || p->start_time < u->oldest)
        u->oldest = p->start_time;
    u->count++;
    u->cpu_ticks += p->cpu_ticks;
    u->child_ticks += p->child_ticks;
    u->memory += p->memory;
}

/* Percent of one CPU over the life of the oldest process, as in ps(1). */
static double usage_cpu(const struct process_usage *u)
{
    struct timespec now;
    double hz = (double)sysconf(_SC_CLK_TCK), age;

    clock_gettime(CLOCK_BOOTTIME, &now);
    age = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)u->oldest / hz;
    return u->count && age > 0 ? (double)u->cpu_ticks / hz / age * 100 : 0;
}

/* With what children have used that are gone by now: it never falls while the processes live. */
static double usage_seconds(const struct process_usage *u)
{
    return (double)(u->cpu_ticks + u->child_ticks) / (double)sysconf(_SC_CLK_TCK);
}

static void usage_put(const struct process_usage *u, json_t *out)
{
    json_object_set_new(out, "processes", json_integer(u->count));
    json_object_set_new(out, "cpu_percent", json_real(usage_cpu(u)));
    json_object_set_new(out, "memory_bytes", json_integer((json_int_t)u->memory));
}

static json_t *user_name(uid_t user)
{
    char number[16];
    const struct passwd *entry = getpwuid(user);

    snprintf(number, sizeof(number), "%u", (unsigned)user);
    return text_json(entry ? entry->pw_name : number);
}

static void number_put(json_t *out, const char *key, double value)
{
    if (value >= 0)
        json_object_set_new(out, key, json_real(value));
}

/* What the kernel counts of the control group that the process is in, and its limits. */
static json_t *group_describe(pid_t pid)
{
    json_t *out = json_object();
    struct cgroup_limits limits;
    struct cgroup_usage usage;

    cgroup_usage_read(&usage, pid);
    cgroup_limits_read(&limits, pid);
    number_put(out, "cpu_s", usage.cpu_s);
    number_put(out, "cpus", limits.cpus);
    number_put(out, "memory_bytes", usage.memory_bytes);
    number_put(out, "memory_limit_bytes", limits.memory_bytes);
    number_put(out, "killed", (double)usage.killed);
    return out;
}

/* The usage of all processes of the job, or of one of its ranks, without the agent's own. */
static struct process_usage usage_of(const struct job_survey *s, int job, int rank)
{
    struct process_usage u = {0};

    for (size_t i = 0; i < s->processes.count; i++) {
        const struct job_survey_owner *o = &s->owners[i];

        if (o->job == job && !o->is_agent && !s->processes.list[i].has_ended &&
            (rank < 0 || o->rank == rank))
            usage_add(&u, &s->processes.list[i]);
    }
    return u;
}

/* The stacks of each of the rank's processes. */
static json_t *rank_stacks(const struct job_survey *s, int job, int rank,
                           const struct stack_request *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->processes.count; i++) {
        const struct job_survey_owner *o = &s->owners[i];
        const struct process *p = &s->processes.list[i];

        if (o->job != job || o->rank != rank || o->is_agent || p->has_ended)
            continue;
        json_t *one = json_pack("{si}", "pid", (int)p->pid);

        json_object_set_new(one, "name", text_json(p->name));
        stack_describe(p, r, one);
        json_array_append_new(list, one);
    }
    return list;
}

/* Adds what the rank has written, or nothing if that is not an object. */
static void wait_add(const char *text, void *arg)
{
    json_t *wait = parsed_json(text, strlen(text), 0, NULL);

    if (json_is_object(wait))
        json_array_append(arg, wait);
    json_decref(wait);
}

/* "0-3": where the kernel lets the process run, if that is not on every processor. */
static void cores_put(json_t *one, pid_t pid)
{
    char path[FACT_PATH], mine[FACT_TEXT], all[FACT_TEXT];

    fact_file_path(path, "", "/proc/%d/status", (int)pid);
    if (fact_file_entry(path, "Cpus_allowed_list:", mine) &&
        fact_file_line("/sys/devices/system/cpu/online", all) && strcmp(mine, all) != 0)
        fact_put_text(one, "cores", mine);
}

static json_t *rank_describe(const struct job_survey *s, int job, const struct job_survey_rank *r,
                             const json_t *kept, const struct answer_question *q)
{
    const struct process *p = r->lives ? process_list_find(&s->processes, r->pid) : NULL;
    struct process_usage u = usage_of(s, job, r->rank);
    char state[2] = "", alone[512];
    json_t *one;

    if (p)
        state[0] = p->state;
    one =
        json_pack("{si si ss}", "rank", r->rank, "pid", (int)r->pid, "state", p ? state : "ended");

    if (p) {
        json_object_set_new(one, "name", text_json(p->name));
        cores_put(one, r->pid);
    }
    usage_put(&u, one);
    json_object_set_new(one, "kept_bytes", json_integer(kept_bytes_of(kept, r->rank)));
    if (job_directory_rank_is_alone(s->jobs[job].dir, r->rank, alone, sizeof(alone)))
        fact_put_text(one, "kept_alone", alone);
    if (q->counters && p) {
        const struct job_survey_job *j = &s->jobs[job];

        json_object_set_new(one, "cpu_s", json_real(usage_seconds(&u)));
        json_object_set_new(one, "counters", rank_counts_read(j->dir, j->user, r->rank));
    }
    if ((q->stacks || q->counters) && p) {
        json_t *waits = json_array();

        job_directory_each_wait(s->jobs[job].dir, r->rank, wait_add, waits);
        json_object_set_new(one, "waits", waits);
    }
    return one;
}

/* True if an earlier rank of the list waits in the same calls: its stacks speak for this one's. */
static bool wait_is_known(const json_t *list, size_t index)
{
    const json_t *mine = json_object_get(json_array_get(list, index), "waits");

    for (size_t i = 0; i < index; i++) {
        const json_t *other = json_object_get(json_array_get(list, i), "waits");
        size_t k = 0, count = json_array_size(mine);

        while (k < count && count == json_array_size(other) &&
               json_equal(json_object_get(json_array_get(mine, k), "text"),
                          json_object_get(json_array_get(other, k), "text")))
            k++;
        if (count > 0 && k == count)
            return true;
    }
    return false;
}

/* After the waits of all ranks, which belong together, because stacks take long. Ranks that don't
 * wait in a call come first. */
static void stacks_describe(const struct job_survey *s, int job, const struct answer_question *q,
                            int64_t deadline_ms, json_t *list)
{
    const struct stack_request request = {s->jobs[job].dir, q->may_debug, deadline_ms};
    json_t *one;
    size_t i;

    for (int waits = 0; waits < 2; waits++) {
        json_array_foreach(list, i, one)
        {
            int rank = (int)json_integer_value(json_object_get(one, "rank"));

            if ((json_array_size(json_object_get(one, "waits")) > 0) == waits &&
                !(q->is_brief && wait_is_known(list, i)))
                json_object_set_new(one, "stacks", rank_stacks(s, job, rank, &request));
        }
    }
}

/* *lives and *stopped: how many of the ranks' first processes live and are stopped. */
static json_t *ranks_describe(const struct job_survey *s, int job, const json_t *kept,
                              const struct answer_question *q, int64_t deadline_ms, int *lives,
                              int *stopped)
{
    json_t *list = json_array();
    struct evidence *evidence = q->stacks ? evidence_open() : NULL;
    struct job_survey_rank *ranks = NULL;
    int count = 0;

    *lives = *stopped = 0;
    if (job_survey_ranks(s, job, &ranks, &count, NULL))
        count = 0; /* none has been started yet */
    for (int i = 0; i < count; i++) {
        const struct process *p = process_list_find(&s->processes, ranks[i].pid);

        *lives += ranks[i].lives;
        *stopped += ranks[i].lives && p && (p->state == 'T' || p->state == 't');
        json_array_append_new(list, rank_describe(s, job, &ranks[i], kept, q));
        if (ranks[i].lives)
            evidence_ask(evidence, ranks[i].rank, ranks[i].pid,
                         s->jobs[job].file.host_rank < NCCL_HOSTS_MOST);
    }
    if (q->stacks)
        stacks_describe(s, job, q, deadline_ms, list);
    evidence_gather(evidence, deadline_ms, list);
    evidence_close(evidence);
    free(ranks);
    return list;
}

/* The newest world that ranks here are in counts: the others have not called ml_repair yet. */
static void world_put(json_t *out, const struct job_survey_job *j, json_t *ranks)
{
    int64_t newest = -1, members = 0, mine, count;
    json_t *one;
    size_t i;

    json_array_foreach(ranks, i, one)
    {
        int rank = (int)json_integer_value(json_object_get(one, "rank"));

        if (rank_counts_world(j->dir, j->user, rank, &mine, &count) && mine > newest) {
            newest = mine;
            members = count;
        }
    }
    if (newest < 0)
        return;
    json_object_set_new(out, "membership", json_integer(newest));
    json_object_set_new(out, "members", json_integer(members));
}

static json_t *job_describe(const struct job_survey *s, int job, const struct answer_question *q,
                            int64_t deadline_ms)
{
    const struct job_survey_job *j = &s->jobs[job];
    const struct job_file *f = &j->file;
    struct process_usage u = usage_of(s, job, -1);
    const char *state = job_survey_state_word(j->state);
    time_t now = time(NULL);
    int64_t age_s = f->started_at && now > f->started_at ? now - f->started_at : 0;
    int lives, stopped;
    json_t *kept = kept_bytes_read(j->dir, j->user);
    json_t *ranks = ranks_describe(s, job, kept, q, deadline_ms, &lives, &stopped);
    json_t *one = json_object();

    if (j->state == JOB_SURVEY_LIVE && lives && lives == stopped)
        state = "stopped";
    /* In the order of doc/protocol.md. */
    json_object_set_new(one, "job", text_json(f->job));
    json_object_set_new(one, "job_name", text_json(f->name));
    json_object_set_new(one, "user", user_name(j->user));
    json_object_set_new(one, "name", text_json(f->host));
    json_object_set_new(one, "host_rank", json_integer(f->host_rank));
    json_object_set_new(one, "host_count", json_integer(f->hosts));
    json_object_set_new(one, "size", json_integer(f->size));
    json_object_set_new(one, "command", text_json(f->command));
    json_object_set_new(one, "directory", text_json(j->dir));
    json_object_set_new(one, "state", json_string(state));
    if (j->why[0])
        json_object_set_new(one, "why", text_json(j->why));
    json_object_set_new(one, "started_at", json_integer((json_int_t)f->started_at));
    json_object_set_new(one, "age_s", json_integer((json_int_t)age_s));
    json_object_set_new(one, "agent_pid", json_integer((json_int_t)f->agent_pid));
    json_object_set_new(one, "guard_pid", json_integer((json_int_t)f->guard_pid));
    json_object_set_new(one, "ranks_alive", json_integer(lives));
    if (f->elastic)
        world_put(one, j, ranks);
    usage_put(&u, one);
    json_object_set_new(one, "kept_bytes", json_integer(kept_bytes_sum(kept)));
    json_decref(kept);
    if (q->counters && j->worker_lives)
        json_object_set_new(one, "cgroup", group_describe((pid_t)f->agent_pid));
    json_object_set_new(one, "ranks", ranks);
    return one;
}

/* Processes that still run though their job is dead and its directory gone. */
static void orphans_describe(const struct job_survey *s, const struct answer_question *q,
                             json_t *list)
{
    for (size_t i = 0; i < s->processes.count; i++) {
        const struct job_survey_owner *o = &s->owners[i];
        const struct process *p = &s->processes.list[i];

        if (!o->is_orphan || !o->mark || p->has_ended || (*q->job && !strstr(o->mark, q->job)))
            continue;
        json_t *one = json_pack("{si}", "pid", (int)p->pid);

        json_object_set_new(one, "name", text_json(p->name));
        json_object_set_new(one, "directory", text_json(o->mark));
        json_array_append_new(list, one);
    }
}

int answer_list_run(const struct answer_question *q, json_t *out, struct fault *why)
{
    int64_t deadline_ms = clock_ms() + (q->stacks_ms > 0 ? q->stacks_ms : STACKS_MS);
    json_t *jobs, *orphans;
    struct job_survey *s;
    int rc = job_survey_open(&s, q->base, why);

    if (rc)
        return rc;
    jobs = json_array();
    orphans = json_array();
    for (int i = 0; i < s->job_count; i++) {
        if (job_survey_is_asked(&s->jobs[i], q->job) &&
            (q->host < 0 || s->jobs[i].file.host_rank == q->host))
            json_array_append_new(jobs, job_describe(s, i, q, deadline_ms));
    }
    orphans_describe(s, q, orphans);
    json_object_set_new(out, "jobs", jobs);
    json_object_set_new(out, "orphans", orphans);
    job_survey_close(s);
    return 0;
}
