/* SPDX-License-Identifier: MIT */
#include "launcher/commands/exec_output.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/text_json.h"
#include "launcher/base/text/name_ranges.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct host_stream {
    struct evbuffer *held;
    bool is_open; /* it has become too long to be held back */
};

struct host_output {
    struct host_stream streams[2];
    int status;
    bool is_printed; /* as one of a group; for the stream or status that is being printed */
};

struct exec_output {
    const char *const *names;
    int hosts;
    bool for_json;
    struct host_output *of;
};

struct exec_output *exec_output_create(const char *const *names, int hosts, bool for_json)
{
    struct exec_output *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    o->names = names;
    o->hosts = hosts;
    o->for_json = for_json;
    o->of = calloc((size_t)hosts, sizeof(*o->of));
    for (int i = 0; o->of && i < hosts; i++) {
        for (int s = 0; s < 2; s++) {
            o->of[i].streams[s].held = evbuffer_new();
            if (!o->of[i].streams[s].held)
                goto fail;
        }
    }
    if (o->of)
        return o;
fail:
    exec_output_destroy(o);
    return NULL;
}

void exec_output_destroy(struct exec_output *o)
{
    if (!o)
        return;
    for (int i = 0; o->of && i < o->hosts; i++) {
        for (int s = 0; s < 2; s++) {
            if (o->of[i].streams[s].held)
                evbuffer_free(o->of[i].streams[s].held);
        }
    }
    free(o->of);
    free(o);
}

static FILE *file_of(int stream)
{
    return stream == 1 ? stdout : stderr;
}

static int written_check(FILE *to, struct fault *why)
{
    if (!ferror(to))
        return 0;
    return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write to standard %s",
                    to == stdout ? "output" : "error");
}

/* Writes each line of `text` behind the names. The last one is ended if it was not. */
static void lines_write(FILE *to, const char *names, const char *text, size_t size)
{
    while (size > 0) {
        const char *newline = memchr(text, '\n', size);
        size_t length = newline ? (size_t)(newline - text) : size;

        fprintf(to, "[%s] ", names);
        fwrite(text, 1, length, to);
        fputc('\n', to);
        length += newline != NULL;
        text += length;
        size -= length;
    }
}

/* Gives away what is held back, and holds nothing back from now on. */
static void stream_release(const struct exec_output *o, struct output *to, int host, int stream)
{
    struct host_stream *s = &o->of[host].streams[stream - 1];
    size_t size = evbuffer_get_length(s->held);

    output_pass(to, host, stream, evbuffer_pullup(s->held, -1), size);
    evbuffer_drain(s->held, size);
    s->is_open = true;
}

static int on_bytes(struct output *to, int host, int stream, const void *bytes, size_t size,
                    void *arg, struct fault *why)
{
    const struct exec_output *o = arg;
    struct host_stream *s = &o->of[host].streams[stream - 1];
    size_t all = evbuffer_get_length(s->held) + size;

    if (s->is_open || (o->hosts == 1 && !o->for_json))
        return 0;
    if (o->for_json && all > EXEC_JSON_MAX)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "host %s has written more than %d MiB, which --json does not hold",
                         o->names[host], EXEC_JSON_MAX >> 20);
    if (!o->for_json && all > EXEC_HELD_MAX) {
        stream_release(o, to, host, stream);
        return 0;
    }
    if (evbuffer_add(s->held, bytes, size))
        return fault_set(why, ML_ERR_MEMORY, "out of memory for what host %s has written",
                         o->names[host]);
    return 1;
}

struct output_sink exec_output_sink(struct exec_output *o)
{
    return (struct output_sink){.names = o->names, .on_bytes = on_bytes, .arg = o};
}

void exec_output_end(struct exec_output *o, int host, int status)
{
    o->of[host].status = status;
}

static bool is_same_text(struct evbuffer *a, struct evbuffer *b)
{
    size_t size = evbuffer_get_length(a);

    return size == evbuffer_get_length(b) &&
           memcmp(evbuffer_pullup(a, -1), evbuffer_pullup(b, -1), size) == 0;
}

/* Stream 1 or 2; 0: the status. */
static bool are_equal(const struct exec_output *o, int a, int b, int what)
{
    const struct host_output *x = &o->of[a], *y = &o->of[b];

    if (what == 0)
        return x->status == y->status;
    return is_same_text(x->streams[what - 1].held, y->streams[what - 1].held);
}

/* What mlaunch itself had to say about the host is in its standard error. */
static bool is_worth_a_line(int status)
{
    return status > 0 && status < STATUS_OURS;
}

static void group_write(const struct exec_output *o, const char *names, int first, int what)
{
    struct evbuffer *held = what ? o->of[first].streams[what - 1].held : NULL;

    if (held)
        lines_write(file_of(what), names, (const char *)evbuffer_pullup(held, -1),
                    evbuffer_get_length(held));
    else
        log_error("%s: exit status %d", names, o->of[first].status);
}

/* Prints what the host and those behind it have in common. `names` has room for all. */
static int group_print(const struct exec_output *o, int first, int what, const char **names,
                       struct fault *why)
{
    size_t count = 0;
    char *list;
    int rc;

    for (int i = first; i < o->hosts; i++) {
        if (!o->of[i].is_printed && are_equal(o, first, i, what)) {
            o->of[i].is_printed = true;
            names[count++] = o->names[i];
        }
    }
    rc = name_ranges_format(&list, names, count, why);
    if (rc)
        return rc;
    group_write(o, list, first, what);
    free(list);
    return 0;
}

static int groups_print(struct exec_output *o, int what, struct fault *why)
{
    const char **names = calloc((size_t)o->hosts, sizeof(*names));
    int rc = names ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (int i = 0; i < o->hosts; i++)
        o->of[i].is_printed = what ? evbuffer_get_length(o->of[i].streams[what - 1].held) == 0
                                   : !is_worth_a_line(o->of[i].status);
    for (int i = 0; i < o->hosts && !rc; i++) {
        if (!o->of[i].is_printed)
            rc = group_print(o, i, what, names, why);
    }
    free(names);
    if (!rc && what)
        fflush(file_of(what));
    return rc || !what ? rc : written_check(file_of(what), why);
}

int exec_output_print(struct exec_output *o, struct fault *why)
{
    int rc = groups_print(o, 1, why);

    if (!rc)
        rc = groups_print(o, 2, why);
    return rc ? rc : groups_print(o, 0, why);
}

/* JSON has no byte 0; it also becomes '?'. */
static json_t *stream_json(const struct host_stream *s)
{
    size_t size = evbuffer_get_length(s->held);
    char *text = malloc(size + 1);
    json_t *json;

    if (!text)
        return NULL;
    evbuffer_copyout(s->held, text, size);
    for (size_t i = 0; i < size; i++) {
        if (!text[i])
            text[i] = '?';
    }
    text[size] = '\0';
    json = text_json(text);
    free(text);
    return json;
}

json_t *exec_output_json(const struct exec_output *o)
{
    json_t *list = json_array();

    for (int i = 0; i < o->hosts && list; i++) {
        json_t *host = json_pack("{s:o, s:i, s:o, s:o}", "host", text_json(o->names[i]), "status",
                                 o->of[i].status, "stdout", stream_json(&o->of[i].streams[0]),
                                 "stderr", stream_json(&o->of[i].streams[1]));

        if (json_array_append_new(list, host)) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

int exec_output_status(const struct exec_output *o)
{
    int status = 0;

    for (int i = 0; i < o->hosts; i++)
        status = o->of[i].status > status ? o->of[i].status : status;
    return status;
}
