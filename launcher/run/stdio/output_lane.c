/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_lane.h"

#include "launcher/run/stdio/output_dir.h"
#include "launcher/run/stdio/output_label.h"
#include "launcher/run/stdio/writer.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* The streams of chunks without a rank. */
enum { CHUNK_TEXT = 3, CHUNK_PROGRESS, CHUNK_TYPED, CHUNK_FINISH };

enum { OWN_WAITING_MAX = 1 << 20 };

enum { HOST_NONE = -1 /* mlaunch itself: nobody is to be told that it is written */ };

enum { SOURCE_OWN = -1 /* mlaunch's own lines; a rank's stream: see stream_index() */ };

/* A writer, and what only its thread uses. */
struct lane {
    struct output_lanes *all;
    struct writer *writer;
    struct output_buffer buffer;
    struct output_label *label; /* NULL: raw */
};

struct output_lanes {
    struct output_lane_events events;
    int ranks, hosts;
    int pty_rank; /* the rank that has a terminal, or -1 */
    struct output_file out, err;
    struct output_file *err_file; /* &err, or &out if both are the same */
    struct output_dir *dir;       /* or NULL */
    struct lane lanes[3];         /* standard output, standard error, directory */
    struct lane *err_lane;        /* where standard error goes: its own lane or the first */

    int bell; /* eventfd with which the writers wake the loop */
    struct event *on_bell;
    pthread_mutex_t lock; /* protects what follows */
    uint32_t *written;    /* by host: bytes to acknowledge, at most the agent's window */
    size_t own_waiting;   /* bytes of mlaunch's own lines */
    size_t rank_waiting;  /* bytes of the ranks */
    int end_source;       /* whose the last bytes for err_file are: a stream, or SOURCE_OWN */
    size_t end_size;      /* how many of them have come without others between */
    bool *is_unfinished;  /* by stream: its last byte for err_file was not a newline */
    struct fault failed;  /* the first failure; code 0: none yet */
    bool failed_reported;
};

/* Keeps the first failure. The bell makes the loop report it. */
static void failure_note(struct output_lanes *l, const struct fault *why)
{
    pthread_mutex_lock(&l->lock);
    if (!l->failed.code)
        l->failed = *why;
    pthread_mutex_unlock(&l->lock);
}

void output_lane_fail(struct output_lanes *l, const struct fault *why)
{
    failure_note(l, why);
    eventfd_write(l->bell, 1);
}

/* --- on the writers' threads ------------------------------------------------------------------ */

static void lane_on_failed(int err, const struct output_file *f, void *arg)
{
    struct fault why;

    if (err == EPIPE)
        fault_set(&why, ML_ERR_PEER, "the reader of %s is gone", f->name);
    else
        fault_os(&why, ML_ERR_SYSTEM, err, "cannot write %s", f->name);
    failure_note(((struct lane *)arg)->all, &why); /* lane_on_written rings */
}

static void lane_on_written(const struct writer_chunk *list, void *arg)
{
    struct output_lanes *l = ((struct lane *)arg)->all;

    pthread_mutex_lock(&l->lock);
    for (; list; list = list->next) {
        if (list->host >= 0)
            l->written[list->host] += list->cost;
        if (list->host == HOST_NONE)
            l->own_waiting -= list->size;
        else
            l->rank_waiting -= list->size;
    }
    pthread_mutex_unlock(&l->lock);
    eventfd_write(l->bell, 1);
}

static void lane_clear_progress(struct lane *lane, struct output_file *f)
{
    if (f->shows_progress)
        output_file_put(&lane->buffer, f, "\r\033[K", 4);
    f->shows_progress = false;
}

static struct output_file *file_of(struct output_lanes *l, int rank, int stream)
{
    if (rank == l->pty_rank)
        return &l->out;
    if (l->dir)
        return output_dir_file(l->dir, rank, stream);
    return stream == 1 ? &l->out : l->err_file;
}

static int stream_index(int rank, int stream)
{
    return 2 * rank + stream - 1;
}

static void lane_put_own(struct lane *lane, const struct writer_chunk *c)
{
    struct output_file *f = lane->all->err_file;

    lane_clear_progress(lane, f);
    if (!lane->label)
        output_file_flush(&lane->buffer); /* sets mid_line */
    if (f->open_line || (!lane->label && f->is_terminal && f->mid_line))
        output_file_put(&lane->buffer, f, "\n", 1);
    f->open_line = NULL;
    output_file_put(&lane->buffer, f, c->bytes, c->size);
    f->shows_progress = c->stream == CHUNK_PROGRESS && c->size;
}

/* What the rank with the terminal writes. Anything else that comes behind a line that it has not
 * ended, such as a prompt, begins a new one. */
static void lane_put_verbatim(struct lane *lane, struct output_file *f,
                              const struct writer_chunk *c)
{
    const void *mark = &lane->all->pty_rank;

    if (c->size == 0)
        return;
    if (f->open_line && f->open_line != mark)
        output_file_put(&lane->buffer, f, "\n", 1);
    output_file_flush(&lane->buffer);
    f->is_verbatim = true;
    output_file_put(&lane->buffer, f, c->bytes, c->size);
    output_file_flush(&lane->buffer);
    f->is_verbatim = false;
    f->open_line = f->mid_line ? mark : NULL;
}

static void lane_forget_open_line(struct lane *lane)
{
    if (lane == &lane->all->lanes[0] && lane->all->out.is_terminal)
        lane->all->out.open_line = NULL;
    if (lane == lane->all->err_lane && lane->all->err_file->is_terminal)
        lane->all->err_file->open_line = NULL;
}

static struct lane *lane_of(struct output_lanes *l, int rank, int stream)
{
    if (rank == l->pty_rank)
        return &l->lanes[0];
    return l->dir ? &l->lanes[2] : stream == 1 ? &l->lanes[0] : l->err_lane;
}

/* Writes what the streams of this lane hold back, where it is time; `end`: all of it, and ends the
 * lines. Returns whether there will be something to show after some more silences. */
static bool lane_show_held(struct lane *lane, bool end)
{
    struct output_lanes *l = lane->all;
    bool again = false;

    for (int i = 0; i < 2 * l->ranks; i++) {
        struct output_file *f = file_of(l, i / 2, i % 2 + 1);

        if (lane_of(l, i / 2, i % 2 + 1) != lane)
            continue; /* the file belongs to another thread */
        if (end)
            output_label_end(lane->label, &lane->buffer, f, i, i / 2);
        else if (output_label_is_due(lane->label, f, i, &again))
            output_label_show(lane->label, &lane->buffer, f, i, i / 2);
    }
    return again;
}

static void lane_finish(struct lane *lane)
{
    struct output_lanes *l = lane->all;

    lane_show_held(lane, true);
    if (lane == &l->lanes[0])
        output_label_end_lines(lane->label, &lane->buffer, &l->out);
    if (lane == l->err_lane)
        output_label_end_lines(lane->label, &lane->buffer, l->err_file);
}

static void lane_on_chunk(const struct writer_chunk *c, void *arg)
{
    struct lane *lane = arg;
    struct output_file *f;
    int stream;

    if (c->stream == CHUNK_FINISH && lane->label)
        lane_finish(lane);
    else if (c->stream == CHUNK_TYPED)
        lane_forget_open_line(lane);
    else if (c->stream == CHUNK_TEXT || c->stream == CHUNK_PROGRESS)
        lane_put_own(lane, c);
    if (c->rank < 0)
        return;
    f = file_of(lane->all, c->rank, c->stream);
    lane_clear_progress(lane, f);
    if (c->rank == lane->all->pty_rank) {
        lane_put_verbatim(lane, f, c);
        return;
    }
    stream = stream_index(c->rank, c->stream);
    if (c->label && lane->label)
        output_label_put_lines(lane->label, &lane->buffer, f, c->bytes, c->label, c->at_ns,
                               c->bytes + c->label, c->size - c->label);
    else if (!lane->label)
        output_file_put(&lane->buffer, f, c->bytes, c->size);
    else if (c->size)
        output_label_write(lane->label, &lane->buffer, f, stream, c->rank, c->at_ns, c->bytes,
                           c->size);
    else
        output_label_end(lane->label, &lane->buffer, f, stream, c->rank);
}

static bool lane_on_silence(void *arg)
{
    struct lane *lane = arg;

    return lane->label && output_label_holds_any(lane->label) && lane_show_held(lane, false);
}

static void lane_on_flush(void *arg)
{
    struct lane *lane = arg;
    const struct output_lane_events *events = &lane->all->events;

    output_file_flush(&lane->buffer);
    if (lane == &lane->all->lanes[0] && events->on_written)
        events->on_written(events->arg);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int lane_open(struct lane *lane, struct output_lanes *l, const struct plan *p,
                     bool for_ranks, const char *const *names, struct fault *why)
{
    const struct writer_ops ops = {lane_on_chunk, lane_on_flush, lane_on_written, lane_on_silence,
                                   lane};
    bool with_rank = p->output == OUTPUT_LABEL || p->output == OUTPUT_FOLD ||
                     (for_ranks && l->dir && output_dir_is_shared(l->dir));
    int rc = 0;

    lane->all = l;
    lane->buffer.on_failed = lane_on_failed;
    lane->buffer.arg = lane;
    lane->buffer.bytes = malloc(OUTPUT_BUFFER);
    if (!lane->buffer.bytes)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (for_ranks && (with_rank || p->options->timestamp))
        rc = output_label_create(&lane->label, 2 * plan_places(p), with_rank, p->options->timestamp,
                                 why);
    if (rc)
        return rc;
    if (lane->label && with_rank && names)
        output_label_use_names(lane->label, names);
    rc = writer_open(&lane->writer, &ops, why);
    if (!rc)
        lane->buffer.thread = writer_thread(lane->writer);
    return rc;
}

static void lane_close(struct lane *lane)
{
    writer_close(lane->writer);
    output_label_destroy(lane->label);
    free(lane->buffer.bytes);
}

static bool is_same_file(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           x.st_rdev == y.st_rdev;
}

static int lanes_open(struct output_lanes *l, const struct plan *p, const char *job,
                      const struct terminal *t, const char *const *names, struct fault *why)
{
    bool is_dir = p->output == OUTPUT_DIR;
    int rc;

    l->out = (struct output_file){.fd = STDOUT_FILENO, .name = "standard output"};
    l->err = (struct output_file){.fd = STDERR_FILENO, .name = "standard error"};
    l->out.is_terminal = isatty(STDOUT_FILENO);
    l->err.is_terminal = isatty(STDERR_FILENO);
    l->out.terminal = l->out.is_terminal ? t : NULL;
    l->err.terminal = l->err.is_terminal ? t : NULL;
    if (is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
        l->err_file = &l->out;
        l->err_lane = &l->lanes[0];
    } else {
        l->err_file = &l->err;
        l->err_lane = &l->lanes[1];
    }
    if (is_dir) {
        rc = output_dir_open(&l->dir, p, job, why);
        if (!rc)
            rc = lane_open(&l->lanes[2], l, p, true, names, why);
        if (rc)
            return rc;
    }
    rc = lane_open(&l->lanes[0], l, p, !is_dir, names, why);
    if (!rc && l->err_lane != &l->lanes[0])
        rc = lane_open(&l->lanes[1], l, p, !is_dir, names, why);
    return rc;
}

static void on_bell(evutil_socket_t fd, short what, void *arg)
{
    struct output_lanes *l = arg;
    struct fault failed = {0};
    eventfd_t count;
    uint32_t written;

    (void)what;
    if (eventfd_read(fd, &count))
        return;
    for (int i = 0; i < l->hosts; i++) {
        pthread_mutex_lock(&l->lock);
        written = l->written[i];
        l->written[i] = 0;
        pthread_mutex_unlock(&l->lock);
        if (written)
            l->events.on_credit(i, written, l->events.arg);
    }
    pthread_mutex_lock(&l->lock);
    if (!l->failed_reported)
        failed = l->failed;
    pthread_mutex_unlock(&l->lock);
    if (failed.code) {
        l->failed_reported = true;
        l->events.on_failed(&failed, l->events.arg);
    }
}

int output_lane_open(struct output_lanes **out, struct event_base *base, const struct plan *p,
                     const char *job, const struct terminal *terminal, const char *const *names,
                     const struct output_lane_events *events, struct fault *why)
{
    struct output_lanes *l = calloc(1, sizeof(*l));
    int rc;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->events = *events;
    l->ranks = plan_places(p);
    l->hosts = plan_host_places(p);
    l->pty_rank = p->options->pty ? p->options->pty_rank : -1;
    pthread_mutex_init(&l->lock, NULL);
    l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->written = calloc((size_t)l->hosts, sizeof(*l->written));
    l->is_unfinished = calloc(2 * (size_t)l->ranks, sizeof(*l->is_unfinished));
    l->end_source = SOURCE_OWN;
    if (l->bell >= 0)
        l->on_bell = event_new(base, l->bell, EV_READ | EV_PERSIST, on_bell, l);
    if (!l->written || !l->is_unfinished || !l->on_bell || event_add(l->on_bell, NULL))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot prepare the output");
    else
        rc = lanes_open(l, p, job, terminal, names, why);
    if (rc)
        output_lane_close(l);
    else
        *out = l;
    return rc;
}

void output_lane_close(struct output_lanes *l)
{
    if (!l)
        return;
    for (int i = 0; i < 3; i++)
        lane_close(&l->lanes[i]);
    output_dir_close(l->dir);
    if (l->on_bell)
        event_free(l->on_bell);
    if (l->bell >= 0)
        close(l->bell);
    pthread_mutex_destroy(&l->lock);
    free(l->written);
    free(l->is_unfinished);
    free(l);
}

/* --- what is to be written -------------------------------------------------------------------- */

static void waiting_change(struct output_lanes *l, bool is_own, size_t more, size_t less)
{
    size_t *waiting = is_own ? &l->own_waiting : &l->rank_waiting;

    pthread_mutex_lock(&l->lock);
    *waiting += more;
    *waiting -= less;
    pthread_mutex_unlock(&l->lock);
}

/* Keeps account of what is last in the file of standard error. */
static void end_note(struct output_lanes *l, int rank, int stream, const char *bytes, size_t size)
{
    int source = rank < 0 ? SOURCE_OWN : stream_index(rank, stream);

    if (rank < 0 && stream != CHUNK_TEXT)
        return;
    pthread_mutex_lock(&l->lock);
    /* The end of a stream may write the line that it has left unfinished, below what came later. */
    if (source != l->end_source && (size || l->is_unfinished[source])) {
        l->end_source = source;
        l->end_size = 0;
    }
    l->end_size += size;
    if (rank >= 0)
        l->is_unfinished[source] = size && bytes[size - 1] != '\n';
    pthread_mutex_unlock(&l->lock);
}

/* Takes over `c`. False: no thread could be started to write it, which the loop will report. */
static bool lane_push_chunk(struct lane *lane, struct writer_chunk *c)
{
    bool is_own = c->host == HOST_NONE;
    size_t size = c->size;
    struct fault why;

    c->at_ns = output_label_now_ns();
    if (lane == lane->all->err_lane)
        end_note(lane->all, c->rank, c->stream, c->bytes, size);
    waiting_change(lane->all, is_own, size, 0);
    if (writer_push(lane->writer, c, &why) == 0)
        return true;
    waiting_change(lane->all, is_own, 0, size);
    output_lane_fail(lane->all, &why);
    return false;
}

/* NULL: there is no memory for it, which the loop will report. */
static struct writer_chunk *chunk_create(struct output_lanes *l, size_t size)
{
    struct writer_chunk *c = malloc(sizeof(*c) + size);
    struct fault why;

    if (!c) {
        fault_set(&why, ML_ERR_MEMORY, "out of memory for the ranks' output");
        output_lane_fail(l, &why);
        return NULL;
    }
    *c = (struct writer_chunk){.size = size};
    return c;
}

/* False: as above. */
static bool lane_push(struct lane *lane, int host, int rank, int stream, const void *bytes,
                      size_t size, uint32_t cost)
{
    struct writer_chunk *c;

    if (size == 0 && !writer_is_used(lane->writer))
        return true; /* the end of a stream that has not begun */
    c = chunk_create(lane->all, size);
    if (!c)
        return false;
    c->host = host;
    c->rank = rank;
    c->stream = (uint8_t)stream;
    c->cost = cost;
    if (size)
        memcpy(c->bytes, bytes, size);
    return lane_push_chunk(lane, c);
}

/* "0-2,5" at `to`, or only its length. */
static size_t ranks_format(char *to, const struct line_ranks *ranks)
{
    size_t size = 0;
    char piece[32];

    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct line_range *r = &ranks->ranges[i];
        int n = r->first == r->last
                    ? snprintf(piece, sizeof(piece), "%s%u", i ? "," : "", r->first)
                    : snprintf(piece, sizeof(piece), "%s%u%c%u", i ? "," : "", r->first,
                               r->last == r->first + 1 ? ',' : '-', r->last);

        if (to)
            memcpy(to + size, piece, (size_t)n);
        size += (size_t)n;
    }
    return size;
}

static bool is_one(const struct line_ranks *ranks)
{
    return ranks->count == 1 && ranks->ranges[0].first == ranks->ranges[0].last;
}

void output_lane_write_lines(struct output_lanes *l, int host, const struct line_ranks *ranks,
                             int stream, const char *bytes, size_t size, uint32_t cost)
{
    int rank = (int)ranks->ranges[0].first;
    size_t label = is_one(ranks) ? 0 : ranks_format(NULL, ranks);
    struct writer_chunk *c;

    if (label == 0) {
        lane_push(lane_of(l, rank, stream), host, rank, stream, bytes, size, cost);
        return;
    }
    c = chunk_create(l, label + size);
    if (!c)
        return;
    c->host = host;
    c->rank = rank;
    c->stream = (uint8_t)stream;
    c->cost = cost;
    c->label = (uint32_t)label;
    ranks_format(c->bytes, ranks);
    memcpy(c->bytes + label, bytes, size);
    lane_push_chunk(lane_of(l, rank, stream), c);
}

void output_lane_write(struct output_lanes *l, int host, int rank, int stream, const void *bytes,
                       size_t size, uint32_t cost)
{
    lane_push(lane_of(l, rank, stream), host, rank, stream, bytes, size, cost);
}

void output_lane_acknowledge(struct output_lanes *l, int host, uint32_t cost)
{
    pthread_mutex_lock(&l->lock);
    l->written[host] += cost;
    pthread_mutex_unlock(&l->lock);
    eventfd_write(l->bell, 1);
}

/* What mlaunch has for a lane itself. */
static bool lane_push_own(struct lane *lane, int what, const char *text, size_t size)
{
    return lane_push(lane, HOST_NONE, -1, what, text, size, 0);
}

bool output_lane_say(struct output_lanes *l, const char *line, size_t size)
{
    return lane_push_own(l->err_lane, CHUNK_TEXT, line, size);
}

void output_lane_progress(struct output_lanes *l, const char *text)
{
    lane_push_own(l->err_lane, CHUNK_PROGRESS, text, text ? strlen(text) : 0);
}

static void lanes_push(struct output_lanes *l, int what)
{
    for (int i = 0; i < 3; i++) {
        if (l->lanes[i].writer)
            lane_push_own(&l->lanes[i], what, NULL, 0);
    }
}

void output_lane_on_typed_line(struct output_lanes *l)
{
    lanes_push(l, CHUNK_TYPED);
}

void output_lane_finish(struct output_lanes *l)
{
    lanes_push(l, CHUNK_FINISH);
}

/* --- how far it is ---------------------------------------------------------------------------- */

bool output_lane_is_behind(struct output_lanes *l)
{
    bool is_behind;

    pthread_mutex_lock(&l->lock);
    is_behind = l->own_waiting > OWN_WAITING_MAX;
    pthread_mutex_unlock(&l->lock);
    return is_behind;
}

bool output_lane_has_terminal(const struct output_lanes *l)
{
    return l->err_file->is_terminal;
}

size_t output_lane_written(const struct output_lanes *l)
{
    size_t written = 0;

    for (int i = 0; i < 3; i++)
        written += l->lanes[i].buffer.written;
    return written;
}

bool output_lane_is_idle(struct output_lanes *l)
{
    for (int i = 0; i < 3; i++) {
        if (l->lanes[i].writer && !writer_is_idle(l->lanes[i].writer))
            return false;
    }
    return true;
}

size_t output_lane_waiting(struct output_lanes *l)
{
    size_t waiting;

    pthread_mutex_lock(&l->lock);
    waiting = l->rank_waiting;
    pthread_mutex_unlock(&l->lock);
    return waiting;
}

size_t output_lane_ends_with(struct output_lanes *l, int rank)
{
    int source = rank < 0 ? SOURCE_OWN : stream_index(rank, 2);
    size_t size;

    pthread_mutex_lock(&l->lock);
    size = l->end_source == source ? l->end_size : 0;
    pthread_mutex_unlock(&l->lock);
    return size;
}

const char *output_lane_path(struct output_lanes *l, int rank)
{
    return l->dir ? output_dir_file(l->dir, rank, 2)->name : NULL;
}

const char *output_lane_kind(const struct output_lanes *l)
{
    return l->dir              ? "a file for each stream of each rank"
           : l->lanes[0].label ? "labelled lines"
                               : "raw bytes";
}

bool output_lane_is_one_file(const struct output_lanes *l)
{
    return l->err_file == &l->out;
}
