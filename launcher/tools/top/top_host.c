/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_host.h"

#include "common/text/object_field.h"
#include "launcher/ask/port_counter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const top_link_names[TOP_LINK_KINDS] = {"shm", "tcp", "rdma"};

#define EACH_NAN NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN
const struct top_use top_use_none = {.memory = NAN, .rates = {EACH_NAN}};

static void number_add(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

void top_use_add(struct top_use *sum, const struct top_use *one)
{
    number_add(&sum->memory, one->memory);
    for (int i = 0; i < TOP_COUNTS; i++)
        number_add(&sum->rates[i], one->rates[i]);
}

static double number_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* --- what is said ----------------------------------------------------------------------------- */

static void calls_read(double counts[TOP_COUNTS], json_t *counters)
{
    json_t *calls = json_object_get(counters, "calls"), *links = json_object_get(counters, "links");
    json_t *one;
    size_t i;

    if (!json_is_array(calls) || !json_is_array(links))
        return;
    for (int k = TOP_CALLS; k < TOP_COUNTS; k++)
        counts[k] = 0;
    json_array_foreach(calls, i, one)
    {
        counts[TOP_CALLS] += object_field_number(one, "count");
        counts[TOP_WAIT] += object_field_number(one, "wait_s");
    }
    json_array_foreach(links, i, one)
    {
        for (int k = 0; k < TOP_LINK_KINDS; k++) {
            if (strcmp(object_field_text(one, "link"), top_link_names[k]) != 0)
                continue;
            counts[TOP_LINKS + 2 * k] += object_field_number(one, "sent");
            counts[TOP_LINKS + 2 * k + 1] += object_field_number(one, "received");
        }
    }
}

/* The call that has waited longest, by the host's clock. */
static void waits_read(struct top_rank *r, double now_s)
{
    json_t *wait;
    size_t i;

    json_array_foreach(json_object_get(r->said, "waits"), i, wait)
    {
        double since = object_field_number(wait, "since"), s = since > 0 ? now_s - since : 0;

        if (r->wait && s <= r->waits_s)
            continue;
        r->wait = object_field_text(wait, "text");
        r->waits_s = s > 0.5 ? s : 0.5; /* none is reported before */
    }
}

static void rank_read(struct top_rank *r, json_t *said, double now_s)
{
    *r = (struct top_rank){.rank = object_field_whole(said, "rank"),
                           .pid = object_field_whole(said, "pid"),
                           .state = object_field_text(said, "state"),
                           .name = object_field_text(said, "name"),
                           .cores = object_field_text(said, "cores"),
                           .counts = {EACH_NAN},
                           .use = top_use_none,
                           .said = said};
    r->is_alive = strcmp(r->state, "ended") != 0;
    if (!r->is_alive)
        return;
    r->use.memory = number_of(said, "memory_bytes");
    r->counts[TOP_CPU] = number_of(said, "cpu_s");
    calls_read(r->counts, json_object_get(said, "counters"));
    waits_read(r, now_s);
}

static int job_read(struct top_job *j, json_t *said, struct fault *why)
{
    json_t *ranks = json_object_get(said, "ranks"), *one;
    double now_s = object_field_number(said, "started_at") + object_field_number(said, "age_s");
    size_t i;

    *j = (struct top_job){.id = object_field_text(said, "job"),
                          .name = object_field_text(said, "job_name"),
                          .user = object_field_text(said, "user"),
                          .command = object_field_text(said, "command"),
                          .state = object_field_text(said, "state"),
                          .size = object_field_whole(said, "size"),
                          .age_s = object_field_whole(said, "age_s"),
                          .memory = number_of(said, "memory_bytes")};
    job_state_text(j->shown, said);
    j->ranks = calloc(json_array_size(ranks) + 1, sizeof(*j->ranks));
    if (!j->ranks)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    json_array_foreach(ranks, i, one)
    {
        rank_read(&j->ranks[j->rank_count++], one, now_s);
    }
    return 0;
}

/* Hardly anything is known about jobs in other containers, and of other builds. */
static bool is_shown(json_t *job)
{
    const char *state = object_field_text(job, "state");

    return *object_field_text(job, "job") && strcmp(state, "elsewhere") != 0 &&
           strcmp(state, "unreadable") != 0;
}

static int jobs_read(struct top_host *h, struct fault *why)
{
    json_t *jobs = json_object_get(h->said, "jobs"), *one;
    size_t i;
    int rc = 0;

    if (!json_is_array(jobs))
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent sent a malformed ANSWER: \"jobs\" is not a list of objects");
    h->jobs = calloc(json_array_size(jobs) + 1, sizeof(*h->jobs));
    if (!h->jobs)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    json_array_foreach(jobs, i, one)
    {
        if (!rc && is_shown(one))
            rc = job_read(&h->jobs[h->job_count++], one, why);
    }
    return rc;
}

static void port_read(struct top_host *h, json_t *port)
{
    json_t *counters = json_object_get(port, "counters");
    double bytes;

    h->ports++;
    h->ports_active += strncmp(object_field_text(port, "state"), "4:", 2) == 0; /* "4: ACTIVE" */
    if (port_counter_read(counters, PORT_COUNTER_SENT, &bytes))
        number_add(&h->counts[TOP_HOST_SENT], bytes);
    if (port_counter_read(counters, PORT_COUNTER_RECEIVED, &bytes))
        number_add(&h->counts[TOP_HOST_RECEIVED], bytes);
    for (const char *const *name = port_counter_errors; *name; name++)
        number_add(&h->counts[TOP_HOST_ERRORS], number_of(counters, *name));
}

static void system_read(struct top_host *h)
{
    json_t *system = json_object_get(h->said, "system"), *device, *port, *seconds;
    const char *mode;
    size_t i, k;

    h->load = number_of(system, "load");
    h->cores = number_of(system, "cores");
    h->memory = number_of(system, "memory_bytes");
    h->available = number_of(system, "memory_available_bytes");
    for (i = 0; i < TOP_HOST_COUNTS; i++)
        h->counts[i] = h->rates[i] = NAN;
    json_object_foreach(json_object_get(h->said, "cpu_s"), mode, seconds)
    {
        if (json_is_number(seconds) && strcmp(mode, "idle") != 0 && strcmp(mode, "iowait") != 0)
            number_add(&h->counts[TOP_HOST_CPU], json_number_value(seconds));
    }
    json_array_foreach(json_object_get(h->said, "devices"), i, device)
    {
        json_array_foreach(json_object_get(device, "ports"), k, port)
        {
            port_read(h, port);
        }
    }
}

/* --- what has grown --------------------------------------------------------------------------- */

/* A count that has fallen began anew. */
static double rate_of(double before, double now, double seconds)
{
    return seconds > 0 && now >= before ? (now - before) / seconds : NAN;
}

/* `before` is in the order of the agent's list, mostly the same as now. */
static const struct top_rank *rank_find(const struct top_job *before, size_t guess,
                                        const struct top_rank *r)
{
    for (size_t i = 0; i < before->rank_count; i++) {
        const struct top_rank *one = &before->ranks[(guess + i) % before->rank_count];

        if (one->rank == r->rank)
            return one->pid == r->pid ? one : NULL;
    }
    return NULL;
}

/* A call that has not ended yet is not in the time that calls have waited, and one that has lasted
 * for long is in it all at once. */
static void wait_mend(struct top_rank *r)
{
    double *rate = &r->use.rates[TOP_WAIT];

    if (r->waits_s > 0 || *rate > 1)
        *rate = 1;
}

static void job_compare(struct top_job *j, const struct top_job *before, double seconds)
{
    for (size_t i = 0; i < j->rank_count; i++) {
        struct top_rank *r = &j->ranks[i];
        const struct top_rank *old = rank_find(before, i, r);

        for (int k = 0; k < TOP_COUNTS && old; k++)
            r->use.rates[k] = rate_of(old->counts[k], r->counts[k], seconds);
    }
}

static void host_compare(struct top_host *h, const struct top_host *before)
{
    double seconds = (double)(h->said_ns - before->said_ns) / 1e9;

    for (int i = 0; i < TOP_HOST_COUNTS && before->said; i++)
        h->rates[i] = rate_of(before->counts[i], h->counts[i], seconds);
    h->errors_first = before->said_ns ? before->errors_first : h->counts[TOP_HOST_ERRORS];
    h->errors = h->counts[TOP_HOST_ERRORS] - h->errors_first;
    for (size_t i = 0; i < h->job_count; i++) {
        for (size_t k = 0; k < before->job_count; k++) {
            if (strcmp(h->jobs[i].id, before->jobs[k].id) == 0)
                job_compare(&h->jobs[i], &before->jobs[k], seconds);
        }
        for (size_t k = 0; k < h->jobs[i].rank_count; k++)
            wait_mend(&h->jobs[i].ranks[k]);
    }
}

void top_host_clear(struct top_host *h)
{
    for (size_t i = 0; i < h->job_count; i++)
        free(h->jobs[i].ranks);
    free(h->jobs);
    json_decref(h->said);
    h->jobs = NULL;
    h->job_count = 0;
    h->said = NULL;
}

int top_host_take(struct top_host *h, json_t *said, int64_t now_ns, struct fault *why)
{
    struct top_host now = {.name = h->name, .said = json_incref(said), .said_ns = now_ns};
    int rc = jobs_read(&now, why);

    if (rc) {
        top_host_clear(&now);
        return rc;
    }
    system_read(&now);
    host_compare(&now, h);
    top_host_clear(h);
    *h = now;
    return 0;
}

void top_host_fail(struct top_host *h, const char *text)
{
    top_host_clear(h);
    snprintf(h->error, sizeof(h->error), "%s", text);
}
