/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_label.h"

#include "launcher/wire/protocol/line_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char continued[] = "… "; /* before the rest of a line that was too long */

/* Prompts are short. A full stdio buffer (4 KiB to a pipe) that ends in the middle of a line is not
 * a prompt: its writer was descheduled, and showing the line now would tear it. */
enum { FULL_BUFFER = 4096, SILENCES_IF_CUT = 20 };

enum {
    PREFIX = 384, /* bytes: a time and a rank or the name of a host */
    NAME_MAX_SHOWN = 256,
    SHORT_PREFIX = 16 /* bytes; "[1234] " fits into a short one, the time does not */
};

struct line {
    char *held; /* the part of the current line that is not written yet */
    size_t size, capacity;
    int64_t at_ns; /* when its first byte came */
    bool is_rest;  /* the line was too long; this is its continuation */
    bool returned; /* its last byte so far is '\r' */
    size_t again;  /* bytes of a label that was repeated behind '\r', if `held` begins with it */
    size_t label;  /* bytes of the last one that was repeated */
    bool is_cut;   /* it came at the end of a full buffer */
    int silences;  /* since its last bytes came */
};

struct label_clock {
    char second[32]; /* "2026-11-21T01:08:23" */
    char zone[16];   /* "+01:00" */
};

struct output_label {
    struct line *lines;
    int count;
    bool with_rank, with_time;
    const char *const *names; /* by rank; NULL: labels have its number */
    int holding;              /* lines with held bytes */
    int64_t second;           /* that `clock` holds */
    struct label_clock clock;
};

int output_label_create(struct output_label **out, int streams, bool with_rank, bool with_time,
                        struct fault *why)
{
    struct output_label *l = calloc(1, sizeof(*l));

    if (l)
        l->lines = calloc((size_t)streams, sizeof(*l->lines));
    if (!l || !l->lines) {
        free(l);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    l->count = streams;
    l->with_rank = with_rank;
    l->with_time = with_time;
    l->second = -1;
    *out = l;
    return 0;
}

void output_label_use_names(struct output_label *l, const char *const *names)
{
    l->names = names;
}

void output_label_destroy(struct output_label *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->count; i++)
        free(l->lines[i].held);
    free(l->lines);
    free(l);
}

bool output_label_holds_any(const struct output_label *l)
{
    return l->holding > 0;
}

static void clock_read(struct label_clock *c, int64_t second)
{
    time_t t = (time_t)second;
    struct tm tm;
    char zone[8] = ""; /* "+0100" */

    localtime_r(&t, &tm);
    strftime(c->second, sizeof(c->second), "%Y-%m-%dT%H:%M:%S", &tm);
    strftime(zone, sizeof(zone), "%z", &tm);
    snprintf(c->zone, sizeof(c->zone), "%.3s:%.2s", zone, zone[0] ? zone + 3 : "");
}

static int clock_format(const struct label_clock *c, int64_t at_ns, char *out, size_t size)
{
    return snprintf(out, size, "%s.%03d%s ", c->second, (int)(at_ns / 1000000 % 1000), c->zone);
}

void output_label_format_time(char out[LABEL_TIME], int64_t at_ns)
{
    struct label_clock clock;

    clock_read(&clock, at_ns / 1000000000);
    clock_format(&clock, at_ns, out, LABEL_TIME);
}

int64_t output_label_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static size_t prefix_format_time(struct output_label *l, char *out, size_t size, int64_t at_ns)
{
    int64_t second = at_ns / 1000000000;

    if (second != l->second) {
        clock_read(&l->clock, second);
        l->second = second;
    }
    return (size_t)clock_format(&l->clock, at_ns, out, size);
}

/* "2026-11-21T01:08:23.125+01:00 [3] " into out; returns its length. */
static size_t prefix_format(struct output_label *l, char *out, size_t size, int rank, int64_t at_ns,
                            bool is_rest)
{
    int at = l->with_time ? (int)prefix_format_time(l, out, size, at_ns) : 0;

    if (l->names)
        at += snprintf(out + at, size - (size_t)at, "[%.*s] ", NAME_MAX_SHOWN, l->names[rank]);
    else if (l->with_rank)
        at += snprintf(out + at, size - (size_t)at, "[%d] ", rank);
    if (is_rest)
        at += snprintf(out + at, size - (size_t)at, "%s", continued);
    return (size_t)at;
}

/* Takes away the first `size` of the bytes that are held. */
static void held_drop(struct output_label *l, struct line *line, size_t size)
{
    if (size == 0)
        return;
    line->size -= size;
    memmove(line->held, line->held + size, line->size);
    l->holding -= line->size == 0;
}

static void held_put(struct output_label *l, struct output_buffer *b, struct output_file *f,
                     struct line *line, size_t size)
{
    if (size > 0)
        output_file_put(b, f, line->held, size);
    held_drop(l, line, size);
}

/* Writes a line's label, unless the line's beginning is at the end of the file already. */
static void line_label(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       struct line *line, int rank)
{
    char prefix[PREFIX];

    if (f->open_line != line) {
        if (f->open_line)
            output_file_put(b, f, "\n", 1);
        output_file_put(b, f, prefix,
                        prefix_format(l, prefix, sizeof(prefix), rank, line->at_ns, line->is_rest));
        held_drop(l, line, line->again);
    }
    line->again = 0;
    f->open_line = NULL;
    line->is_rest = false;
}

/* Writes what comes before the next bytes of a line: its label, and the part that is held back. */
static void line_begin(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       struct line *line, int rank)
{
    line_label(l, b, f, line, rank);
    held_put(l, b, f, line, line->size);
}

/* False: out of memory. */
static bool line_hold(struct output_label *l, struct line *line, const char *bytes, size_t size)
{
    if (line->size + size > line->capacity) {
        size_t capacity = line->size + size < 4096 ? 4096 : 2 * (line->size + size);
        char *bigger = realloc(line->held, capacity);

        if (!bigger)
            return false;
        line->held = bigger;
        line->capacity = capacity;
    }
    if (line->size == 0)
        l->holding++;
    memcpy(line->held + line->size, bytes, size);
    line->size += size;
    return true;
}

/* The usual case in one tight loop: whole lines with their labels, as many as the buffer holds.
 * Returns the first byte that was not put. */
static const char *whole_lines_put(struct output_buffer *b, const struct output_file *f,
                                   const char prefix[PREFIX], size_t prefix_size, const char *bytes,
                                   const char *end)
{
    char *to = b->bytes + b->used;
    const char *limit = b->bytes + OUTPUT_BUFFER;
    const char *newline;

    if (b->file != f || prefix_size > SHORT_PREFIX)
        return bytes;
    while ((newline = memchr(bytes, '\n', (size_t)(end - bytes)))) {
        size_t take = (size_t)(newline - bytes) + 1;

        if (take > LABEL_LINE_MAX || take + SHORT_PREFIX > (size_t)(limit - to))
            break;
        /* The compiler knows the size: two instructions. The line overwrites the excess. */
        memcpy(to, prefix, SHORT_PREFIX);
        memcpy(to + prefix_size, bytes, take);
        to += prefix_size + take;
        bytes += take;
    }
    b->used = (size_t)(to - b->bytes);
    return bytes;
}

/* Bytes in which '\r' has no meaning. */
static void bytes_write(struct output_label *l, struct output_buffer *b, struct output_file *f,
                        struct line *line, int rank, int64_t at_ns, const char *bytes, size_t size)
{
    const char *end = bytes + size;
    char prefix[PREFIX] = "";
    size_t prefix_size = prefix_format(l, prefix, sizeof(prefix), rank, at_ns, false);
    bool fresh = line->size == 0 && f->open_line == NULL && !line->is_rest;

    while (bytes < end) {
        const char *newline;
        size_t left, take;

        if (fresh)
            bytes = whole_lines_put(b, f, prefix, prefix_size, bytes, end);
        if (bytes == end)
            break;
        left = (size_t)(end - bytes);
        newline = memchr(bytes, '\n', left);
        take = newline ? (size_t)(newline - bytes) + 1 : left;
        if (line->size + take > LABEL_LINE_MAX)
            newline = NULL; /* it is held back, and cut below */
        if (newline && fresh) {
            output_file_put(b, f, prefix, prefix_size);
            output_file_put(b, f, bytes, take);
        } else if (newline) {
            if (line->size == 0)
                line->at_ns = at_ns;
            line_begin(l, b, f, line, rank);
            output_file_put(b, f, bytes, take);
            fresh = true;
        } else {
            if (take > LABEL_LINE_MAX - line->size)
                take = LABEL_LINE_MAX - line->size;
            if (line->size == 0)
                line->at_ns = at_ns;
            if (!line_hold(l, line, bytes, take)) {
                /* Shown as it is, like a line that has been silent for a while. */
                line_begin(l, b, f, line, rank);
                output_file_put(b, f, bytes, take);
                f->open_line = line;
            } else if (line->size == LABEL_LINE_MAX) {
                line_begin(l, b, f, line, rank);
                output_file_put(b, f, "\n", 1);
                line->is_rest = true;
            }
            fresh = false;
        }
        bytes += take;
    }
}

/* Puts the label again behind a '\r' that more of the line follows, because the cursor is at the
 * beginning of the line: a progress bar keeps its label. Before "\n" it does not, and where the
 * line has been interrupted it gets a label anyway. */
static void returned_label(struct output_label *l, struct output_buffer *b, struct output_file *f,
                           struct line *line, int rank, int64_t at_ns, char next)
{
    char prefix[PREFIX];

    line->returned = false;
    if (next == '\n' || next == '\r' || (line->size == 0 && f->open_line != line))
        return;
    line->label = prefix_format(l, prefix, sizeof(prefix), rank, at_ns, false);
    if (line->size == 0)
        line->again = line->label;
    bytes_write(l, b, f, line, rank, at_ns, prefix, line->label);
}

void output_label_write(struct output_label *l, struct output_buffer *b, struct output_file *f,
                        int stream, int rank, int64_t at_ns, const char *bytes, size_t size)
{
    struct line *line = &l->lines[stream];
    const char *end = bytes + size, *next;

    line->is_cut = size >= FULL_BUFFER;
    line->silences = 0;
    for (; bytes < end; bytes = next) {
        const char *last = memchr(bytes, '\r', (size_t)(end - bytes));

        if (line->returned)
            returned_label(l, b, f, line, rank, at_ns, *bytes);
        next = last ? last + 1 : end;
        bytes_write(l, b, f, line, rank, at_ns, bytes, (size_t)(next - bytes));
        line->returned = last != NULL;
    }
}

void output_label_end_lines(const struct output_label *l, struct output_buffer *b,
                            struct output_file *f)
{
    if (f->open_line == l)
        output_file_put(b, f, "\n", 1);
    if (f->open_line == l)
        f->open_line = NULL;
}

void output_label_put_lines(struct output_label *l, struct output_buffer *b, struct output_file *f,
                            const char *ranks, size_t ranks_size, int64_t at_ns, const char *bytes,
                            size_t size)
{
    const char *end = bytes + size, *next;
    char time[PREFIX] = "";
    size_t time_size = l->with_time ? prefix_format_time(l, time, sizeof(time), at_ns) : 0;

    for (; bytes < end; bytes = next) {
        bool is_state;

        next = line_fold_line_end(bytes, end);
        is_state = next[-1] == '\r';
        if (f->open_line &&
            (f->open_line != l || !is_state)) /* a state overwrites the one before */
            output_file_put(b, f, "\n", 1);
        output_file_put(b, f, time, time_size);
        output_file_put(b, f, "[", 1);
        output_file_put(b, f, ranks, ranks_size);
        output_file_put(b, f, "] ", 2);
        output_file_put(b, f, bytes, (size_t)(next - bytes));
        f->open_line = is_state ? l : NULL;
    }
}

/* How much of what is held may be shown before the line's end: all on a terminal, where it may be a
 * prompt; elsewhere a progress bar's finished states, because nobody waits for the rest. */
static size_t line_showable(const struct line *line, const struct output_file *f)
{
    const char *last = NULL;

    if (f->is_terminal)
        return line->size;
    if (line->size > 0)
        last = memrchr(line->held, '\r', line->size);
    return last ? (size_t)(last - line->held) + 1 : 0;
}

bool output_label_is_due(struct output_label *l, const struct output_file *f, int stream,
                         bool *again)
{
    struct line *line = &l->lines[stream];
    bool is_due;

    if (line->size == 0 || line_showable(line, f) == 0)
        return false;
    is_due = ++line->silences >= (line->is_cut ? SILENCES_IF_CUT : 1);
    *again |= !is_due;
    return is_due;
}

void output_label_show(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       int stream, int rank)
{
    struct line *line = &l->lines[stream];

    if (line_showable(line, f) == 0)
        return;
    line_label(l, b, f, line, rank); /* may take a repeated label away */
    held_put(l, b, f, line, line_showable(line, f));
    line->again = line->size > 0 ? line->label : 0; /* what is left follows a '\r' */
    f->open_line = line;
}

void output_label_end(struct output_label *l, struct output_buffer *b, struct output_file *f,
                      int stream, int rank)
{
    struct line *line = &l->lines[stream];

    if (line->size > 0 || f->open_line == line) {
        line_begin(l, b, f, line, rank);
        output_file_put(b, f, "\n", 1);
    }
    free(line->held); /* in a job of many ranks, most have ended long before the last */
    line->held = NULL;
    line->capacity = 0;
    line->is_rest = false;
    line->returned = false;
}
