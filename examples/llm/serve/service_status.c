/* SPDX-License-Identifier: MIT */
#include "service_status.h"

#include "../steps/monotonic.h"
#include "completion_answer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often mlaunch has started this job again. */
static long restarts(void)
{
    const char *count = getenv("MLAUNCH_RESTART");

    return count ? strtol(count, NULL, 10) : 0;
}

static char *dump(json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(value);
    return text;
}

/* What the server is doing; "ok" only if it answers requests. `reason` as queue_reason(). */
static const char *state(const struct service_facts *f, char reason[QUEUE_REASON_ROOM])
{
    queue_reason(f->queue, reason);
    if (reason[0])
        return queue_is_closed(f->queue) ? "failed" : "stopping";
    return engine_is_ready(f->engine) ? "ok" : "loading";
}

static json_t *health_json(const struct service_facts *f, int *status)
{
    char reason[QUEUE_REASON_ROOM];
    const char *is = state(f, reason);
    bool is_ok = is[0] == 'o';
    json_t *all =
        json_pack("{s:b, s:s, s:i, s:i, s:s, s:i, s:i, s:i, s:i}", "ok", is_ok, "status", is,
                  "world_size", ml_size(lead_group(f->lead)), "rank", 0, "model", f->model,
                  "queue_max", (int)queue_most(f->queue), "queue_size", (int)queue_size(f->queue),
                  "slots", (int)f->slots, "slots_busy", (int)queue_running(f->queue));

    if (reason[0])
        json_object_set_new(all, "error", answer_text(reason, strlen(reason)));
    *status = is_ok ? 200 : 503;
    return all;
}

char *service_status_health(const struct service_facts *f, int *status)
{
    return dump(health_json(f, status));
}

char *service_status_queue(const struct service_facts *f)
{
    return dump(json_pack("{s:i, s:i}", "size", (int)queue_size(f->queue), "max",
                          (int)queue_most(f->queue)));
}

static json_t *model_json(const struct service_facts *f)
{
    return json_pack("{s:s, s:s, s:I, s:s}", "id", f->model, "object", "model", "created",
                     (json_int_t)f->started, "owned_by", "llm");
}

char *service_status_models(const struct service_facts *f)
{
    return dump(json_pack("{s:s, s:[o]}", "object", "list", "data", model_json(f)));
}

char *service_status_model(const struct service_facts *f)
{
    return dump(model_json(f));
}

char *service_status_metrics(const struct service_facts *f)
{
    struct metrics_gauges now = {
        .queue_size = queue_size(f->queue),
        .queue_most = queue_most(f->queue),
        .running = queue_running(f->queue),
        .slots = f->slots,
        .connections = http_connections(f->http),
        .ranks = (uint32_t)ml_size(lead_group(f->lead)),
        .restarts = restarts(),
        .is_ready = engine_is_ready(f->engine) && !queue_is_closed(f->queue),
    };

    return metrics_page(&f->metrics, &now);
}

static json_t *ranks_json(const struct service_facts *f, bool is_alive)
{
    json_t *list = json_array();

    ml_group *group = lead_group(f->lead);

    for (int rank = 0; rank < ml_size(group); rank++) {
        const struct link_speed *link = &f->links[ml_id(group, rank)];
        const char *host = ml_host(group, rank);

        json_array_append_new(
            list,
            json_pack("{s:i, s:s, s:s, s:s, s:f, s:f}", "rank", rank, "host", host ? host : "",
                      "role", rank ? "worker" : "coordinator", "state", is_alive ? "ok" : "lost",
                      "latency_us", link->latency_us, "gigabytes_per_sec", link->gigabytes_in_s));
    }
    return list;
}

char *service_status_all(const struct service_facts *f)
{
    const struct metrics *m = &f->metrics;
    int status;
    json_t *all = health_json(f, &status);

    json_object_set_new(all, "ranks", ranks_json(f, !queue_is_closed(f->queue)));
    json_object_set_new(all, "context", json_integer(f->context));
    json_object_set_new(all, "requests", completions_list(f->completions));
    json_object_set_new(all, "answer_tokens", json_integer((json_int_t)m->answer_tokens));
    json_object_set_new(all, "prompt_tokens", json_integer((json_int_t)m->prompt_tokens));
    json_object_set_new(all, "reused_tokens", json_integer((json_int_t)m->reused_tokens));
    json_object_set_new(all, "clock_s", json_real((double)(monotonic_ms() % 1000000000) / 1e3));
    json_object_set_new(all, "uptime_s", json_integer(time(NULL) - f->started));
    json_object_set_new(all, "restarts", json_integer(restarts()));
    return dump(all);
}
