/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/trace_file.h"

#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/run/record/call_words.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    ROWS = 1024, /* per rank; calls that find none free are left out */
    FLOW_TEXT = 112,
};

/* A row of a rank: a thread, or another one for calls that the thread has under way at once. */
struct trace_row {
    uint32_t thread;
    uint64_t free_at; /* when its last call has ended; UINT64_MAX: it has not */
};

struct trace_rank {
    int run; /* the one that the rows and messages below are from */
    bool is_named;
    struct trace_row *rows; /* owned */
    int row_count;
    uint64_t bytes; /* all calls so far */
    json_t *counts; /* messages so far, by the prefix of their arrows' names */
};

struct trace_file {
    FILE *f;
    int size;
    bool has_event;
    int64_t origin_ns;
    struct trace_rank *ranks;
};

int trace_file_open(struct trace_file **out, FILE *f, int size, struct fault *why)
{
    struct trace_file *t = calloc(1, sizeof(*t));

    if (t)
        t->ranks = calloc((size_t)size, sizeof(*t->ranks));
    if (!t || !t->ranks) {
        free(t);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    t->f = f;
    t->size = size;
    t->origin_ns = clock_ns();
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", f);
    *out = t;
    return 0;
}

void trace_file_close(struct trace_file *t)
{
    if (!t)
        return;
    fputs("\n]}\n", t->f);
    for (int i = 0; i < t->size; i++) {
        free(t->ranks[i].rows);
        json_decref(t->ranks[i].counts);
    }
    free(t->ranks);
    free(t);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Writes an event, and takes over its arguments and members. */
static void event_write(struct trace_file *t, const char *phase, const char *name, int rank,
                        json_t *args, json_t *members)
{
    json_t *e = json_pack("{s:s, s:s, s:i}", "ph", phase, "name", name, "pid", rank);

    if (args)
        json_object_set_new(e, "args", args);
    if (members)
        json_object_update_new(e, members);
    fputs(t->has_event ? ",\n" : "\n", t->f);
    t->has_event = true;
    if (e)
        json_dumpf(e, t->f, JSON_COMPACT | JSON_REAL_PRECISION(16));
    else
        fputs("{}", t->f);
    json_decref(e);
}

/* Microseconds, as the form has them. */
static double trace_time(const struct trace_file *t, uint64_t ns)
{
    return (double)((int64_t)ns - t->origin_ns) / 1e3;
}

static void name_write(struct trace_file *t, const char *what, int rank, int row, const char *key,
                       json_t *value)
{
    event_write(t, "M", what, rank, json_pack("{s:o}", key, value),
                row < 0 ? NULL : json_pack("{s:i}", "tid", row));
}

static void rank_name(struct trace_file *t, int rank, const char *host, int64_t error_ns)
{
    char text[400];

    if (t->ranks[rank].is_named)
        return;
    t->ranks[rank].is_named = true;
    snprintf(text, sizeof(text), "rank %d on host %.256s", rank, host);
    name_write(t, "process_name", rank, -1, "name", text_json(text));
    name_write(t, "process_sort_index", rank, -1, "sort_index", json_integer(rank));
    if (!error_ns)
        return;
    snprintf(text, sizeof(text), "clock within %.1f us", (double)error_ns / 1e3);
    name_write(t, "process_labels", rank, -1, "labels", json_string(text));
}

/* --- rows ------------------------------------------------------------------------------------- */

static void row_name(struct trace_file *t, int rank, int row)
{
    const struct trace_rank *r = &t->ranks[rank];
    uint32_t thread = r->rows[row].thread;
    int threads = 0, beside = 0;
    char text[64];

    for (int i = 0; i < row; i++) {
        bool is_first = true;

        for (int k = 0; k < i; k++)
            is_first = is_first && r->rows[k].thread != r->rows[i].thread;
        threads += is_first && r->rows[i].thread != thread;
        beside += r->rows[i].thread == thread;
    }
    if (beside)
        snprintf(text, sizeof(text), "at once with others, %d", beside);
    else
        snprintf(text, sizeof(text), "thread %d", threads);
    name_write(t, "thread_name", rank, row, "name", json_string(text));
    name_write(t, "thread_sort_index", rank, row, "sort_index", json_integer(row));
}

/* A row in which the call overlaps no other; -1: there are too many. */
static int row_find(struct trace_file *t, int rank, const struct rank_call *c)
{
    struct trace_rank *r = &t->ranks[rank];
    struct trace_row *more;

    for (int i = 0; i < r->row_count; i++)
        if (r->rows[i].thread == c->thread && r->rows[i].free_at <= c->start)
            return i;
    if (r->row_count == ROWS)
        return -1;
    more = realloc(r->rows, ((size_t)r->row_count + 1) * sizeof(*more));
    if (!more)
        return -1;
    r->rows = more;
    r->rows[r->row_count] = (struct trace_row){.thread = c->thread};
    row_name(t, rank, r->row_count);
    return r->row_count++;
}

/* --- calls ------------------------------------------------------------------------------------ */

static json_t *call_args(const struct rank_call *c)
{
    json_t *args = json_pack("{s:I, s:I}", "group", (json_int_t)c->group, "bytes",
                             (json_int_t)((call_words_bytes(c) + c->received) & INT64_MAX));
    const char *type = call_words_type(c), *op = call_words_op(c);

    if (c->kind != RANK_CALL_MESSAGE)
        json_object_set_new(args, "call", json_integer((json_int_t)c->seq));
    if (type && op) {
        json_object_set_new(args, "type", json_string(type));
        json_object_set_new(args, "op", json_string(op));
    }
    if (c->to >= 0)
        json_object_set_new(args, c->kind == RANK_CALL_MESSAGE ? "to" : "root",
                            json_integer(c->to));
    if (c->from >= 0)
        json_object_set_new(args, "from", json_integer(c->from));
    if (c->failed)
        json_object_set_new(args, "failed", json_true());
    return args;
}

/* The name of the arrow of the next message between two ranks of a group. */
static void flow_name(char text[FLOW_TEXT], struct trace_rank *r, const struct rank_call *c,
                      int from, int to)
{
    json_int_t n;
    int at = snprintf(text, FLOW_TEXT, "%d.%u.%" PRIu32 ".%d-%d.%" PRIu32, r->run,
                      (unsigned)c->generation, c->group, from, to, c->seq);

    if (!r->counts)
        r->counts = json_object();
    n = json_integer_value(json_object_get(r->counts, text));
    json_object_set_new(r->counts, text, json_integer(n + 1));
    snprintf(text + at, FLOW_TEXT - (size_t)at, ".%" JSON_INTEGER_FORMAT, n);
}

static void flow_write(struct trace_file *t, int rank, int row, const struct rank_call *c,
                       bool is_end)
{
    char id[FLOW_TEXT];
    json_t *members;

    flow_name(id, &t->ranks[rank], c, is_end ? c->from : rank, is_end ? rank : c->to);
    if (is_end && (!c->end || c->failed))
        return;
    members = json_pack("{s:s, s:s, s:i, s:f}", "cat", "message", "id", id, "tid", row, "ts",
                        trace_time(t, is_end && c->end > c->start ? c->end - 1 : c->start));
    if (is_end)
        json_object_set_new(members, "bp", json_string("e"));
    event_write(t, is_end ? "f" : "s", "message", rank, NULL, members);
}

static void slice_write(struct trace_file *t, int rank, int row, const struct rank_call *c)
{
    json_t *members =
        json_pack("{s:s, s:i, s:f}", "cat", c->kind == RANK_CALL_MESSAGE ? "message" : "collective",
                  "tid", row, "ts", trace_time(t, c->start));

    if (c->end)
        json_object_set_new(members, "dur", json_real((double)(c->end - c->start) / 1e3));
    event_write(t, c->end ? "X" : "B", call_words_name(c), rank, call_args(c), members);
}

static void call_write(struct trace_file *t, int rank, struct rank_call c)
{
    struct trace_rank *r = &t->ranks[rank];
    int row;

    if (c.end && c.end < c.start)
        c.end = c.start; /* foreign */
    row = row_find(t, rank, &c);
    if (row < 0)
        return;
    r->rows[row].free_at = c.end ? c.end : UINT64_MAX;
    slice_write(t, rank, row, &c);
    if (c.kind == RANK_CALL_MESSAGE && c.to >= 0)
        flow_write(t, rank, row, &c, false);
    if (c.kind == RANK_CALL_MESSAGE && c.from >= 0 && !call_words_is_probe(&c))
        flow_write(t, rank, row, &c, true);
    r->bytes += call_words_bytes(&c) + c.received;
    event_write(t, "C", "bytes", rank,
                json_pack("{s:I}", "bytes", (json_int_t)(r->bytes & INT64_MAX)),
                json_pack("{s:f}", "ts", trace_time(t, c.end ? c.end : c.start)));
}

void trace_file_add(struct trace_file *t, int rank, int run, const char *host, int64_t error_ns,
                    const struct rank_call *calls, size_t count)
{
    struct trace_rank *r = &t->ranks[rank];

    if (run != r->run) {
        for (int i = 0; i < r->row_count; i++)
            r->rows[i].free_at = 0; /* what was under way has ended with its run */
        json_decref(r->counts);
        r->counts = NULL;
        r->run = run;
    }
    rank_name(t, rank, host, error_ns);
    for (size_t i = 0; i < count; i++)
        call_write(t, rank, calls[i]);
}
