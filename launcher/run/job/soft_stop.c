/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/soft_stop.h"

#include "common/text/text_json.h"
#include "launcher/input/plan/plan.h"
#include "launcher/run/round/job_round.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/output.h"

#include <event2/event.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>

struct soft_stop {
    struct soft_stop_config config;
    struct event *limit;
    bool is_asked;
};

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct soft_stop *s = arg;

    (void)fd, (void)what;
    s->config.on_late(s->config.arg);
}

int soft_stop_open(struct soft_stop **out, const struct soft_stop_config *config, struct fault *why)
{
    struct soft_stop *s = calloc(1, sizeof(*s));

    if (s) {
        s->config = *config;
        s->limit = evtimer_new(config->base, on_limit, s);
    }
    if (!s || !s->limit) {
        soft_stop_close(s);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = s;
    return 0;
}

void soft_stop_close(struct soft_stop *s)
{
    if (!s)
        return;
    if (s->limit)
        event_free(s->limit);
    free(s);
}

bool soft_stop_is_asked(const struct soft_stop *s)
{
    return s->is_asked;
}

/* The batch system, or whoever else sends the others, has a limit of its own. */
static bool has_limit(int signal)
{
    return signal != 0 && signal != SIGUSR1 && signal != SIGUSR2;
}

void soft_stop_ask(struct soft_stop *s, struct job_round *round, const char *text, int signal)
{
    int grace_ms = s->config.plan->job.grace_ms;
    const struct timeval limit = {grace_ms / 1000, grace_ms % 1000 * 1000};

    if (s->is_asked)
        return;
    s->is_asked = true;
    if (has_limit(signal)) {
        evtimer_add(s->limit, &limit);
        output_say(s->config.output, "%s; SIGTERM in %g s; --grace changes that", text,
                   grace_ms / 1e3);
    } else {
        output_say(s->config.output, "%s", text);
    }
    events_file_write(s->config.events, "asked", s->config.job,
                      json_pack("{s:o}", "text", text_json(text)));
    if (round)
        job_round_ask_stop(round);
}

void soft_stop_started(struct soft_stop *s, struct job_round *round)
{
    if (s->is_asked)
        job_round_ask_stop(round);
}

void soft_stop_end(struct soft_stop *s, bool is_well)
{
    evtimer_del(s->limit);
    if (!s->is_asked || !is_well)
        return;
    output_say(s->config.output, "the job has stopped by itself, as it was asked");
    events_file_write(s->config.events, "stopped-softly", s->config.job, NULL);
}
