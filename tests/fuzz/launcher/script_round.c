/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/launcher/script_round.h"

#include "common/log.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "tests/fuzz/launcher/script_channel.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

/* --- stand-ins for the output and the input --------------------------------------------------- */

void output_write(struct output *o, int host, int rank, int stream, const void *bytes, size_t size)
{
    (void)o, (void)bytes, (void)size;
    if (host < 0 || host > 2 || rank < 0 || rank >= RANKS || stream < 1 || stream > 2)
        abort();
}

void output_write_folded(struct output *o, int host, const struct line_ranks *ranks, int stream,
                         const void *bytes, size_t size, uint32_t cost)
{
    (void)o, (void)bytes;
    if (host < 0 || host > 2 || stream < 1 || stream > 2 || ranks->count == 0 || size == 0 ||
        cost < size || ranks->ranges[ranks->count - 1].last >= RANKS)
        abort();
}

void output_say(struct output *o, const char *format, ...)
{
    (void)o, (void)format;
}

void output_say_of(struct output *o, int rank, const char *text)
{
    (void)o;
    if (rank < 0 || rank >= RANKS || !text[0])
        abort();
}

void output_finish(struct output *o)
{
    (void)o;
}

bool output_is_behind(struct output *o)
{
    (void)o;
    return false;
}

bool output_is_idle(struct output *o)
{
    (void)o;
    return true;
}

bool output_has_terminal(const struct output *o)
{
    (void)o;
    return false;
}

void output_progress(struct output *o, const char *text)
{
    (void)o, (void)text;
}

void output_fold_others(struct output *o, int failed)
{
    (void)o;
    if (failed < -1 || failed >= RANKS)
        abort();
}

size_t output_ends_with(struct output *o, int rank)
{
    (void)o, (void)rank;
    return 0;
}

const char *output_last_words(struct output *o, int rank, char *text, size_t size)
{
    (void)o, (void)rank, (void)size;
    text[0] = '\0';
    return text;
}

void input_start(struct input *in)
{
    (void)in;
}

void input_on_credit(struct input *in, int rank, uint32_t bytes)
{
    (void)in, (void)bytes;
    if (rank < 0 || rank >= RANKS)
        abort();
}

void input_rank_ended(struct input *in, int rank)
{
    (void)in;
    if (rank < 0 || rank >= RANKS)
        abort();
}

void input_wake(struct input *in)
{
    (void)in;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void quiet(enum log_level level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

static struct plan *plan_of(const char *backend, const char *elastic)
{
    char *argv[] = {(char *)"mlaunch",
                    (char *)"-H",
                    (char *)"a:2,b,c",
                    (char *)"-n",
                    (char *)"4",
                    (char *)"--local",
                    (char *)"shm",
                    (char *)"--backend",
                    (char *)backend,
                    (char *)(elastic ? "--elastic" : "prog"),
                    (char *)elastic,
                    (char *)"prog",
                    NULL};
    char *environment[] = {NULL};
    struct options_source from = {elastic ? 12 : 10, argv, environment, NULL, NULL};
    static struct options *o; /* the plan is made of them */
    struct plan *p;
    struct fault why;

    if (options_load_from(&o, &from, &why) || plan_create(&p, o, environment, &why))
        abort();
    return p;
}

static void on_started(void *arg)
{
    (void)arg;
}

static void on_end(void *arg)
{
    *(bool *)arg = true;
}

struct job_round *script_round_run(struct event_base *base, enum script_job job,
                                   const struct rank_results *results, const uint8_t *script,
                                   size_t size)
{
    static struct plan *plans[SCRIPT_JOBS];
    bool has_ended = false;
    struct job_round_config config = {.base = base,
                                      .results = results,
                                      .job = "1ngk8fs-q4z7cd",
                                      .on_started = on_started,
                                      .on_end = on_end,
                                      .arg = &has_ended};
    struct job_round *r;
    struct fault why;

    log_to(quiet, NULL);
    if (!plans[0]) {
        plans[SCRIPT_TCP] = plan_of("tcp", NULL);
        plans[SCRIPT_RDMA] = plan_of("rdma", NULL);
        plans[SCRIPT_ELASTIC] = plan_of("tcp", "2");
    }
    config.plan = plans[job];
    script_channel_begin(script, size);
    if (!base || job_round_start(&r, &config, &why))
        abort();
    for (size_t i = 0; i < size + 9 && !has_ended; i++)
        event_base_loop(base, EVLOOP_ONCE);
    if (!has_ended)
        abort();
    return r;
}
