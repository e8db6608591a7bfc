/* SPDX-License-Identifier: MIT */
#include "service.h"

#include "../steps/monotonic.h"
#include "../text/characters.h"
#include "completion_answer.h"
#include "routes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_LOST = 1,
    EXIT_USAGE = 2,
    /* What is being answered may end, or learn that a rank is lost: the signal of mlaunch that
     * follows a rank's death may be faster than the library's error. */
    GRACE_MS = 300,
    STEP_MS = 1500, /* for the step that is being computed */
    FLUSH_MS = 700,
    LOOK_MS = 20,
};

struct service {
    struct service_facts facts;
    struct event_base *base;
    struct event *sigterm, *sigint, *deadline, *look;
    struct tokenizer *tokenizer;
    char *model;
    int64_t flushed_ms; /* when it ends although bytes still wait */
    bool is_engine_stuck;
};

static void timer_set(struct event *timer, int ms)
{
    struct timeval in = {ms / 1000, ms % 1000 * 1000L};

    event_add(timer, &in);
}

/* The engine has ended, or takes too long; all answers are on their way. */
static void service_flush(void *arg)
{
    struct service *s = arg;

    http_stop_listening(s->facts.http);
    event_del(s->deadline);
    s->flushed_ms = monotonic_ms() + FLUSH_MS;
    timer_set(s->look, 0);
}

static void service_on_look(evutil_socket_t fd, short what, void *arg)
{
    struct service *s = arg;

    (void)fd;
    (void)what;
    if (http_is_flushed(s->facts.http) || monotonic_ms() >= s->flushed_ms)
        event_base_loopbreak(s->base);
    else
        timer_set(s->look, LOOK_MS);
}

static void service_on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct service *s = arg;

    (void)fd;
    (void)what;
    s->is_engine_stuck = true;
    completions_fail(s->facts.completions);
    service_flush(s);
}

static void service_on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct service *s = arg;

    (void)signal;
    (void)what;
    http_stop_listening(s->facts.http);
    queue_stop(s->facts.queue, GRACE_MS);
    if (!event_pending(s->deadline, EV_TIMEOUT, NULL))
        timer_set(s->deadline, GRACE_MS + STEP_MS);
}

static void service_on_request(struct evhttp_request *request, void *arg)
{
    struct service *s = arg;

    routes_request(&s->facts, request);
}

static char *service_on_refused(int status, const char *sentence, void *arg)
{
    struct service *s = arg;

    metrics_answered(&s->facts.metrics, status);
    return answer_error(status, sentence, NULL);
}

/* "/models/Qwen3-0.6B-Q8_0.gguf": Qwen3-0.6B-Q8_0 */
static char *model_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name), end = strlen(".gguf");

    if (length > end && strcmp(name + length - end, ".gguf") == 0)
        length -= end;
    return characters_mend(name, length, &length);
}

static int service_events(struct service *s)
{
    signal(SIGPIPE, SIG_IGN); /* a client that has gone is an error of write() */
    s->base = event_base_new();
    if (!s->base)
        return -1;
    s->sigterm = evsignal_new(s->base, SIGTERM, service_on_signal, s);
    s->sigint = evsignal_new(s->base, SIGINT, service_on_signal, s);
    s->deadline = evtimer_new(s->base, service_on_deadline, s);
    s->look = evtimer_new(s->base, service_on_look, s);
    if (!s->sigterm || !s->sigint || !s->deadline || !s->look)
        return -1;
    return event_add(s->sigterm, NULL) || event_add(s->sigint, NULL) ? -1 : 0;
}

static int service_parts(struct service *s, const struct service_config *config)
{
    struct service_facts *f = &s->facts;
    struct completions_config completions = {
        .base = s->base,
        .prompts = {lead_gguf(config->lead), s->tokenizer, lead_vocabulary(config->lead)},
        .model = s->model,
        .context = f->context,
        .slots = f->slots,
        .metrics = &f->metrics,
        .on_closed = service_flush,
        .arg = s,
    };
    struct engine_config engine = {.lead = config->lead, .tokenizer = s->tokenizer};

    f->queue = queue_open(config->queue_most, f->slots);
    completions.queue = engine.queue = f->queue;
    if (!f->queue)
        return -1;
    f->completions = completions_open(&completions);
    f->engine = f->completions ? engine_start(&engine) : NULL;
    return f->engine ? 0 : -1;
}

static int service_open(struct service *s, const struct service_config *config, char *error,
                        size_t size)
{
    struct service_facts *f = &s->facts;

    f->lead = config->lead;
    f->links = config->links;
    f->slots = lead_slots(config->lead);
    f->context = lead_context(config->lead);
    f->started = time(NULL);
    if (config->api_key_file) {
        f->keys = api_keys_read(config->api_key_file, error, size);
        if (!f->keys)
            return -1;
    }
    s->tokenizer = tokenizer_new(lead_gguf(config->lead), error, size);
    if (!s->tokenizer)
        return -1;
    snprintf(error, size, "out of memory");
    f->model = s->model = model_name(config->path);
    if (!s->model || service_events(s))
        return -1;
    f->http = http_open(s->base, config->host, config->port, service_on_request, service_on_refused,
                        s, error, size);
    if (!f->http)
        return -1;
    snprintf(error, size, "out of memory or threads");
    return service_parts(s, config);
}

static void service_close(struct service *s)
{
    completions_close(s->facts.completions);
    http_close(s->facts.http);
    queue_free(s->facts.queue);
    if (s->look)
        event_free(s->look);
    if (s->deadline)
        event_free(s->deadline);
    if (s->sigint)
        event_free(s->sigint);
    if (s->sigterm)
        event_free(s->sigterm);
    if (s->base)
        event_base_free(s->base);
    tokenizer_free(s->tokenizer);
    api_keys_free(s->facts.keys);
    free(s->model);
    free(s);
}

/* Says where it listens. On loopback of a host that mlaunch has reached, that is not where the user
 * sits. */
static void service_say(const struct service *s, const struct service_config *config)
{
    const char *rank0 = ml_host(lead_group(config->lead), 0), *host = config->host;
    bool is_here = !rank0 || strcmp(rank0, "localhost") == 0 || !getenv("MLAUNCH_JOB"), is_v6;

    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        host = is_here ? "localhost" : rank0;
    is_v6 = strchr(host, ':');
    printf("llm: %s on http://%s%s%s:%u, %d ranks, %u slots of %u tokens\n", s->model,
           is_v6 ? "[" : "", host, is_v6 ? "]" : "", http_port(s->facts.http),
           lead_ranks(config->lead), s->facts.slots, s->facts.context);
    if (http_is_on_loopback(s->facts.http) && !is_here)
        printf("llm: only programs on host %s reach that; --host ADDRESS, one of %s, lets others "
               "in\n",
               rank0, rank0);
    fflush(stdout);
    if (s->facts.keys && api_keys_are_open(s->facts.keys))
        fprintf(stderr, "llm serve: every user of this host can read %s; chmod 600 ends that\n",
                config->api_key_file);
}

int service_run(const struct service_config *config, char *error, size_t size)
{
    struct service *s = calloc(1, sizeof(*s));
    char reason[QUEUE_REASON_ROOM];
    int status = EXIT_USAGE;

    snprintf(error, size, "out of memory");
    if (!s)
        return status;
    if (!service_open(s, config, error, size)) {
        service_say(s, config);
        event_base_dispatch(s->base);
        queue_reason(s->facts.queue, reason);
        if (s->is_engine_stuck)
            _exit(EXIT_LOST); /* it is in a call that only the job's end can end */
        status = engine_join(s->facts.engine);
        if (status && status != ENGINE_MOVED)
            status = EXIT_LOST;
        else if (status)
            status = SERVICE_MOVED;
        if (status == EXIT_LOST)
            fprintf(stderr, "llm: %s\n", reason);
    } else {
        lead_end(config->lead); /* the other ranks wait for a step */
    }
    service_close(s);
    return status;
}
