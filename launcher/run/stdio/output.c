/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output.h"

#include "common/log.h"
#include "common/text/printable.h"
#include "launcher/base/process/last_words.h"
#include "launcher/run/stdio/output_fold.h"
#include "launcher/run/stdio/output_label.h"
#include "launcher/run/stdio/output_lane.h"
#include "launcher/run/stdio/output_merge.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FOLD_MS = 5000, /* how long output may be held back to see whether it is also another rank's */
};

struct output {
    struct output_lanes *lanes;
    struct output_sink sink; /* no on_bytes: there is none */
    int ranks;
    int pty_rank;              /* the rank that has a terminal, or -1 */
    bool with_time;            /* also before mlaunch's own lines */
    atomic_bool is_cut;        /* a line of -v was left out */
    struct last_words **words; /* each rank's; NULL: nothing on standard error yet */
    struct output_fold *fold;  /* NULL: every line is written */
    struct event *fold_end;
    const struct rank_set *shown; /* whose output is printed; NULL: all ranks' */
    struct output_merge *merge;   /* folds what several hosts send; or NULL */
};

/* With -vv each frame from an agent makes a line: an agent must not fill the memory by sending many
 * while nobody reads them. */
static void on_log_line(enum log_level level, const char *text, void *arg)
{
    const char *word = level == LOG_ERROR ? "error: " : level == LOG_WARN ? "warning: " : "";

    if (level < LOG_INFO || !output_is_behind(arg))
        output_say(arg, "%s%s", word, text);
    else if (!atomic_exchange(&((struct output *)arg)->is_cut, true))
        output_say(arg, "warning: more happens than is read here; some lines of -v are left out");
}

static void fold_write(int rank, const char *bytes, size_t size, void *arg)
{
    output_pass(arg, rank, 2, bytes, size);
}

static void fold_say(const char *ranks, int same_as, void *arg)
{
    output_say(arg, "%s wrote the same to standard error as rank %d", ranks, same_as);
}

static void on_fold_end(evutil_socket_t fd, short what, void *arg)
{
    struct output *o = arg;

    (void)fd, (void)what;
    output_fold_release(o->fold);
}

/* Held back or not, a rank's output must not use up the window of the others on its host. */
static void acknowledge(struct output *o, int host, size_t size)
{
    output_lane_acknowledge(o->lanes, host, agent_output_cost(size));
}

/* Most ranks write nothing there. Where memory is short, the last words will be missing. */
static void words_note(struct output *o, int rank, const char *bytes, size_t size)
{
    if (!o->words[rank])
        o->words[rank] = calloc(1, sizeof(**o->words));
    if (o->words[rank])
        last_words_add(o->words[rank], bytes, size);
}

/* --- lines of several ranks ------------------------------------------------------------------- */

/* Stores in `out` those of `ranks` that are shown, as many pieces as there may be. */
static bool ranks_show(const struct output *o, struct line_ranks *ranks, struct line_range **out)
{
    uint32_t n = 0, room = 0;

    for (uint32_t i = 0; i < ranks->count; i++)
        room += ranks->ranges[i].last - ranks->ranges[i].first + 1;
    *out = malloc(room * sizeof(**out));
    for (uint32_t i = 0; *out && i < ranks->count; i++) {
        for (uint32_t r = ranks->ranges[i].first; r <= ranks->ranges[i].last; r++) {
            if (!rank_set_has(o->shown, (int)r))
                continue;
            if (n && (*out)[n - 1].last + 1 == r)
                (*out)[n - 1].last = r;
            else
                (*out)[n++] = (struct line_range){r, r};
        }
    }
    *ranks = (struct line_ranks){*out, n};
    return n > 0;
}

void output_write_folded(struct output *o, int host, const struct line_ranks *ranks, int stream,
                         const void *bytes, size_t size, uint32_t cost)
{
    struct line_ranks shown = *ranks;
    struct line_range *some = NULL;

    for (uint32_t i = 0; stream == 2 && i < ranks->count; i++)
        for (uint32_t r = ranks->ranges[i].first; r <= ranks->ranges[i].last; r++)
            words_note(o, (int)r, bytes, size);
    if (o->shown && !ranks_show(o, &shown, &some))
        output_lane_acknowledge(o->lanes, host, cost);
    else if (o->merge)
        output_merge_lines(o->merge, host, &shown, stream, bytes, size, cost);
    else
        output_lane_write_lines(o->lanes, host, &shown, stream, bytes, size, cost);
    free(some);
}

static void on_merged(int host, const struct line_ranks *ranks, int stream, const char *bytes,
                      size_t size, uint32_t cost, void *arg)
{
    struct output *o = arg;

    if (size)
        output_lane_write_lines(o->lanes, host, ranks, stream, bytes, size, cost);
    else if (ranks)
        output_pass(o, (int)ranks->ranges[0].first, stream, NULL, 0);
    else
        output_lane_acknowledge(o->lanes, host, cost);
}

static int fold_open(struct output *o, struct event_base *base, struct fault *why)
{
    o->fold = output_fold_create(o->ranks, fold_write, o);
    o->fold_end = evtimer_new(base, on_fold_end, o);
    return o->fold && o->fold_end ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

int output_open(struct output **out, struct event_base *base, const struct plan *p, const char *job,
                const struct terminal *terminal, const struct output_sink *sink,
                const struct output_events *events, struct fault *why)
{
    const struct output_lane_events lane_events = {events->on_credit, events->on_failed,
                                                   events->on_written, events->arg};
    struct output *o = calloc(1, sizeof(*o));
    int rc;

    if (!o)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (sink)
        o->sink = *sink;
    o->ranks = plan_places(p);
    if (p->options->show && p->output != OUTPUT_DIR)
        o->shown = &p->shown;
    o->pty_rank = p->options->pty ? p->options->pty_rank : -1;
    o->with_time = p->options->timestamp;
    o->words = calloc((size_t)o->ranks, sizeof(*o->words));
    if (!o->words)
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot prepare the output");
    else
        rc = output_lane_open(&o->lanes, base, p, job, terminal, o->sink.names, &lane_events, why);
    if (!rc && p->output == OUTPUT_LABEL && log_level() < LOG_INFO)
        rc = fold_open(o, base, why);
    if (!rc && p->output == OUTPUT_FOLD && p->where->host_count > 1)
        rc = output_merge_open(&o->merge, base, o->ranks, plan_fold_ms(p), on_merged, o, why);
    if (rc) {
        output_close(o);
        return rc;
    }
    log_to(on_log_line, o);
    log_debug("output: %s; standard output and standard error are %s", output_lane_kind(o->lanes),
              output_lane_is_one_file(o->lanes) ? "the same file" : "two files");
    *out = o;
    return 0;
}

void output_close(struct output *o)
{
    if (!o)
        return;
    log_to(NULL, NULL);
    output_lane_close(o->lanes);
    output_restart(o);
    free(o->words);
    output_fold_destroy(o->fold);
    output_merge_close(o->merge);
    if (o->fold_end)
        event_free(o->fold_end);
    free(o);
}

void output_fold_others(struct output *o, int failed)
{
    const struct timeval limit = {FOLD_MS / 1000, FOLD_MS % 1000 * 1000};

    if (!o->fold)
        return;
    output_fold_begin(o->fold, failed);
    evtimer_add(o->fold_end, &limit);
}

void output_pass(struct output *o, int rank, int stream, const void *bytes, size_t size)
{
    output_lane_write(o->lanes, OUTPUT_LANE_ANSWERED, rank, stream, bytes, size,
                      agent_output_cost(size));
}

static bool sink_keeps(struct output *o, int rank, int stream, const void *bytes, size_t size)
{
    struct fault why;
    int rc = 0;

    if (o->sink.on_bytes)
        rc = o->sink.on_bytes(o, rank, stream, bytes, size, o->sink.arg, &why);
    if (rc < 0)
        output_lane_fail(o->lanes, &why);
    return rc != 0;
}

void output_write(struct output *o, int host, int rank, int stream, const void *bytes, size_t size)
{
    if (sink_keeps(o, rank, stream, bytes, size)) {
        acknowledge(o, host, size);
        return;
    }
    if (stream == 2)
        words_note(o, rank, bytes, size);
    if (stream == 2 && o->fold && output_fold_hold(o->fold, rank, bytes, size)) {
        acknowledge(o, host, size);
        return;
    }
    if (o->shown && rank != o->pty_rank && !rank_set_has(o->shown, rank))
        acknowledge(o, host, size);
    else if (o->merge && rank != o->pty_rank)
        output_merge_piece(o->merge, host, rank, stream, bytes, size, agent_output_cost(size));
    else
        output_lane_write(o->lanes, host, rank, stream, bytes, size, agent_output_cost(size));
}

void output_on_typed_line(struct output *o)
{
    output_lane_on_typed_line(o->lanes);
}

void output_finish(struct output *o)
{
    output_merge_flush(o->merge);
    if (o->fold) {
        evtimer_del(o->fold_end);
        output_fold_release(o->fold);
    }
    output_lane_finish(o->lanes);
    if (o->fold)
        output_fold_end(o->fold, fold_say, o);
}

/* Who calls is the loop, which a reader that pauses must not stop: nothing is written then. */
static void write_without_lane(const char *text, size_t size)
{
    struct pollfd err = {STDERR_FILENO, POLLOUT, 0};

    if (poll(&err, 1, 0) == 1 && err.revents & POLLOUT)
        (void)!write(STDERR_FILENO, text, size < PIPE_BUF ? size : PIPE_BUF);
}

void output_say(struct output *o, const char *format, ...)
{
    char text[8192], time[LABEL_TIME] = "";
    va_list args;
    size_t at;

    if (o->with_time)
        output_label_format_time(time, output_label_now_ns());
    at = (size_t)snprintf(text, sizeof(text), "%smlaunch: ", time);
    va_start(args, format);
    vsnprintf(text + at, sizeof(text) - 1 - at, format, args);
    va_end(args);
    printable_mend(text, "\n\t");
    at = strlen(text);
    text[at++] = '\n';
    if (!output_lane_say(o->lanes, text, at))
        write_without_lane(text, at);
}

void output_say_of(struct output *o, int rank, const char *text)
{
    char line[2048];
    size_t size;

    snprintf(line, sizeof(line) - 1, "mlaunch: %s", text);
    printable_mend(line, "\n\t");
    size = strlen(line);
    line[size++] = '\n';
    if (!sink_keeps(o, rank, 2, line, size))
        output_say(o, "%s", text);
}

void output_progress(struct output *o, const char *text)
{
    if (output_lane_has_terminal(o->lanes))
        output_lane_progress(o->lanes, text);
}

bool output_has_terminal(const struct output *o)
{
    return output_lane_has_terminal(o->lanes);
}

bool output_is_behind(struct output *o)
{
    return output_lane_is_behind(o->lanes);
}

size_t output_written(const struct output *o)
{
    return output_lane_written(o->lanes);
}

size_t output_waiting(struct output *o)
{
    return output_lane_waiting(o->lanes);
}

bool output_is_idle(struct output *o)
{
    return output_lane_is_idle(o->lanes);
}

void output_restart(struct output *o)
{
    for (int i = 0; o->words && i < o->ranks; i++) {
        free(o->words[i]);
        o->words[i] = NULL;
    }
}

size_t output_ends_with(struct output *o, int rank)
{
    return output_lane_ends_with(o->lanes, rank);
}

const char *output_last_words(struct output *o, int rank, char *text, size_t size)
{
    static const struct last_words nothing;

    last_words_text(o->words[rank] ? o->words[rank] : &nothing, text, size);
    return output_lane_path(o->lanes, rank);
}
