/* SPDX-License-Identifier: MIT */
#include "launcher/stdio/output_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char continued[] = "… "; /* before the rest of a line that was too long */

/* Prompts are short. A full stdio buffer (4 KiB to a pipe) that ends in the middle of a line is not
 * a prompt: its writer was descheduled, and showing the line now would tear it. */
enum { FULL_BUFFER = 4096, SILENCES_IF_CUT = 20 };

enum {
    PREFIX = 96,
    SHORT_PREFIX = 16 /* bytes; "[1234] " fits into a short one, the time does not */
};

struct line {
    char *held; /* the part of the current line that is not written yet */
    size_t size, capacity;
    int64_t at_ns; /* when its first byte came */
    bool is_rest;  /* the line was too long; this is its continuation */
    bool is_cut;   /* it came at the end of a full buffer */
    int silences;  /* since its last bytes came */
};

struct output_label {
    struct line *lines;
    int count;
    bool with_rank, with_time;
    int holding;    /* lines with held bytes */
    int64_t second; /* whose text `clock` holds */
    char clock[32];
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

/* "2026-11-21T01:08:23" */
static void clock_format(char *out, size_t size, int64_t second)
{
    time_t t = (time_t)second;
    struct tm tm;

    localtime_r(&t, &tm);
    strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
}

void output_label_format_time(char out[LABEL_TIME], int64_t at_ns)
{
    char clock[32];

    clock_format(clock, sizeof(clock), at_ns / 1000000000);
    snprintf(out, LABEL_TIME, "%s.%03d ", clock, (int)(at_ns / 1000000 % 1000));
}

/* "2026-11-21T01:08:23.125 [3] " into out; returns its length. */
static size_t prefix_format(struct output_label *l, char *out, size_t size, int rank, int64_t at_ns,
                            bool is_rest)
{
    int64_t second = at_ns / 1000000000;
    int at = 0;

    if (l->with_time) {
        if (second != l->second) {
            clock_format(l->clock, sizeof(l->clock), second);
            l->second = second;
        }
        at = snprintf(out, size, "%s.%03d ", l->clock, (int)(at_ns / 1000000 % 1000));
    }
    if (l->with_rank)
        at += snprintf(out + at, size - (size_t)at, "[%d] ", rank);
    if (is_rest)
        at += snprintf(out + at, size - (size_t)at, "%s", continued);
    return (size_t)at;
}

/* Writes what comes before the next bytes of a line: its label, unless the line's beginning is at
 * the end of the file already, and the part that is held back. */
static void line_begin(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       struct line *line, int rank)
{
    char prefix[PREFIX];

    if (f->open_line != line) {
        if (f->open_line)
            output_file_put(b, f, "\n", 1);
        output_file_put(b, f, prefix,
                        prefix_format(l, prefix, sizeof(prefix), rank, line->at_ns, line->is_rest));
    }
    f->open_line = NULL;
    line->is_rest = false;
    if (line->size) {
        output_file_put(b, f, line->held, line->size);
        line->size = 0;
        l->holding--;
    }
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

void output_label_write(struct output_label *l, struct output_buffer *b, struct output_file *f,
                        int stream, int rank, int64_t at_ns, const char *bytes, size_t size)
{
    struct line *line = &l->lines[stream];
    const char *end = bytes + size;
    char prefix[PREFIX] = "";
    size_t prefix_size = prefix_format(l, prefix, sizeof(prefix), rank, at_ns, false);
    bool fresh = line->size == 0 && f->open_line == NULL && !line->is_rest;

    line->is_cut = size >= FULL_BUFFER;
    line->silences = 0;
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

bool output_label_is_due(struct output_label *l, int stream)
{
    struct line *line = &l->lines[stream];

    return line->size > 0 && ++line->silences >= (line->is_cut ? SILENCES_IF_CUT : 1);
}

void output_label_show(struct output_label *l, struct output_buffer *b, struct output_file *f,
                       int stream, int rank)
{
    struct line *line = &l->lines[stream];

    if (line->size == 0)
        return;
    line_begin(l, b, f, line, rank);
    f->open_line = line;
}

void output_label_end(struct output_label *l, struct output_buffer *b, struct output_file *f,
                      int stream, int rank)
{
    struct line *line = &l->lines[stream];

    output_label_show(l, b, f, stream, rank);
    if (f->open_line == line) {
        output_file_put(b, f, "\n", 1);
        f->open_line = NULL;
    }
    free(line->held); /* in a job of many ranks, most have ended long before the last */
    line->held = NULL;
    line->capacity = 0;
    line->is_rest = false;
}
