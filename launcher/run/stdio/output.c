/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output.h"

#include "common/log.h"
#include "common/text/printable.h"
#include "launcher/base/process/last_words.h"
#include "launcher/run/stdio/output_dir.h"
#include "launcher/run/stdio/output_fold.h"
#include "launcher/run/stdio/output_label.h"
#include "launcher/run/stdio/output_merge.h"
#include "launcher/run/stdio/writer.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The streams of chunks without a rank. */
enum { CHUNK_TEXT = 3, CHUNK_PROGRESS, CHUNK_TYPED, CHUNK_FINISH };

enum {
    OWN_WAITING_MAX = 1 << 20,
    FOLD_MS = 5000, /* how long output may be held back to see whether it is also another rank's */
};

/* The hosts of chunks that are not to be acknowledged. */
enum {
    HOST_NONE = -1 /* mlaunch itself */,
    HOST_ANSWERED = -2 /* a rank's, acknowledged before */
};

enum { SOURCE_OWN = -1 /* mlaunch's own lines; a rank's stream: see stream_index() */ };

/* A writer, and what only its thread uses. */
struct lane {
    struct output *output;
    struct writer *writer;
    struct output_buffer buffer;
    struct output_label *label; /* NULL: raw */
};

struct output {
    struct output_events events;
    struct output_sink sink; /* no on_bytes: there is none */
    int ranks, hosts;
    int pty_rank;   /* the rank that has a terminal, or -1 */
    bool with_time; /* also before mlaunch's own lines */
    struct output_file out, err;
    struct output_file *err_file; /* &err, or &out if both are the same */
    struct output_dir *dir;       /* or NULL */
    struct last_words **words;    /* each rank's; NULL: nothing on standard error yet */
    struct output_fold *fold;     /* NULL: every line is written */
    struct event *fold_end;
    const struct rank_set *shown; /* whose output is printed; NULL: all ranks' */
    struct output_merge *merge;   /* folds what several hosts send; or NULL */
    struct lane lanes[3];         /* standard output, standard error, directory */
    struct lane *err_lane;        /* where standard error goes: its own lane or the first */

    int bell; /* eventfd with which the writers wake the loop */
    struct event *on_bell;
    pthread_mutex_t lock; /* protects what follows */
    uint32_t *written;    /* by host: bytes to acknowledge, at most the agent's window */
    size_t own_waiting;   /* bytes of mlaunch's own lines */
    size_t rank_waiting;  /* bytes of the ranks */
    bool is_cut;          /* a line of -v was left out */
    int end_source;       /* whose the last bytes for err_file are: a stream, or SOURCE_OWN */
    size_t end_size;      /* how many of them have come without others between */
    bool *is_unfinished;  /* by stream: its last byte for err_file was not a newline */
    struct fault failed;  /* the first failure; code 0: none yet */
    bool failed_reported;
};

/* Keeps the first failure. The bell makes the loop report it. */
static void failure_note(struct output *o, const struct fault *why)
{
    pthread_mutex_lock(&o->lock);
    if (!o->failed.code)
        o->failed = *why;
    pthread_mutex_unlock(&o->lock);
}

static void lane_on_failed(int err, const struct output_file *f, void *arg)
{
    struct fault why;

    if (err == EPIPE)
        fault_set(&why, ML_ERR_PEER, "the reader of %s is gone", f->name);
    else
        fault_os(&why, ML_ERR_SYSTEM, err, "cannot write %s", f->name);
    failure_note(((struct lane *)arg)->output, &why); /* lane_on_written rings */
}

static void lane_on_written(const struct writer_chunk *list, void *arg)
{
    struct output *o = ((struct lane *)arg)->output;

    pthread_mutex_lock(&o->lock);
    for (; list; list = list->next) {
        if (list->host >= 0)
            o->written[list->host] += list->cost;
        if (list->host == HOST_NONE)
            o->own_waiting -= list->size;
        else
            o->rank_waiting -= list->size;
    }
    pthread_mutex_unlock(&o->lock);
    eventfd_write(o->bell, 1);
}

static void lane_clear_progress(struct lane *lane, struct output_file *f)
{
    if (f->shows_progress)
        output_file_put(&lane->buffer, f, "\r\033[K", 4);
    f->shows_progress = false;
}

static struct output_file *file_of(struct output *o, int rank, int stream)
{
    if (rank == o->pty_rank)
        return &o->out;
    if (o->dir)
        return output_dir_file(o->dir, rank, stream);
    return stream == 1 ? &o->out : o->err_file;
}

static int stream_index(int rank, int stream)
{
    return 2 * rank + stream - 1;
}

static void lane_put_own(struct lane *lane, const struct writer_chunk *c)
{
    struct output_file *f = lane->output->err_file;

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
    const void *mark = &lane->output->pty_rank;

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
    if (lane == &lane->output->lanes[0] && lane->output->out.is_terminal)
        lane->output->out.open_line = NULL;
    if (lane == lane->output->err_lane && lane->output->err_file->is_terminal)
        lane->output->err_file->open_line = NULL;
}

static struct lane *lane_of(struct output *o, int rank, int stream)
{
    if (rank == o->pty_rank)
        return &o->lanes[0];
    return o->dir ? &o->lanes[2] : stream == 1 ? &o->lanes[0] : o->err_lane;
}

/* Writes what the streams of this lane hold back, where it is time; `end`: all of it, and ends the
 * lines. Returns whether there will be something to show after some more silences. */
static bool lane_show_held(struct lane *lane, bool end)
{
    struct output *o = lane->output;
    bool again = false;

    for (int i = 0; i < 2 * o->ranks; i++) {
        struct output_file *f = file_of(o, i / 2, i % 2 + 1);

        if (lane_of(o, i / 2, i % 2 + 1) != lane)
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
    struct output *o = lane->output;

    lane_show_held(lane, true);
    if (lane == &o->lanes[0])
        output_label_end_lines(lane->label, &lane->buffer, &o->out);
    if (lane == o->err_lane)
        output_label_end_lines(lane->label, &lane->buffer, o->err_file);
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
    f = file_of(lane->output, c->rank, c->stream);
    lane_clear_progress(lane, f);
    if (c->rank == lane->output->pty_rank) {
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
    output_file_flush(&((struct lane *)arg)->buffer);
}

static int lane_open(struct lane *lane, struct output *o, const struct plan *p, bool for_ranks,
                     struct fault *why)
{
    const struct writer_ops ops = {lane_on_chunk, lane_on_flush, lane_on_written, lane_on_silence,
                                   lane};
    bool with_rank = p->output == OUTPUT_LABEL || p->output == OUTPUT_FOLD ||
                     (for_ranks && o->dir && output_dir_is_shared(o->dir));
    int rc = 0;

    lane->output = o;
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
    if (lane->label && with_rank && o->sink.names)
        output_label_use_names(lane->label, o->sink.names);
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

static int lanes_open(struct output *o, const struct plan *p, const char *job,
                      const struct terminal *t, struct fault *why)
{
    bool is_dir = p->output == OUTPUT_DIR;
    int rc;

    o->out = (struct output_file){.fd = STDOUT_FILENO, .name = "standard output"};
    o->err = (struct output_file){.fd = STDERR_FILENO, .name = "standard error"};
    o->out.is_terminal = isatty(STDOUT_FILENO);
    o->err.is_terminal = isatty(STDERR_FILENO);
    o->out.terminal = o->out.is_terminal ? t : NULL;
    o->err.terminal = o->err.is_terminal ? t : NULL;
    if (is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
        o->err_file = &o->out;
        o->err_lane = &o->lanes[0];
    } else {
        o->err_file = &o->err;
        o->err_lane = &o->lanes[1];
    }
    if (is_dir) {
        rc = output_dir_open(&o->dir, p, job, why);
        if (!rc)
            rc = lane_open(&o->lanes[2], o, p, true, why);
        if (rc)
            return rc;
    }
    rc = lane_open(&o->lanes[0], o, p, !is_dir, why);
    if (!rc && o->err_lane != &o->lanes[0])
        rc = lane_open(&o->lanes[1], o, p, !is_dir, why);
    return rc;
}

static void on_bell(evutil_socket_t fd, short what, void *arg)
{
    struct output *o = arg;
    struct fault failed = {0};
    eventfd_t count;
    uint32_t written;

    (void)what;
    if (eventfd_read(fd, &count))
        return;
    for (int i = 0; i < o->hosts; i++) {
        pthread_mutex_lock(&o->lock);
        written = o->written[i];
        o->written[i] = 0;
        pthread_mutex_unlock(&o->lock);
        if (written)
            o->events.on_credit(i, written, o->events.arg);
    }
    pthread_mutex_lock(&o->lock);
    if (!o->failed_reported)
        failed = o->failed;
    pthread_mutex_unlock(&o->lock);
    if (failed.code) {
        o->failed_reported = true;
        o->events.on_failed(&failed, o->events.arg);
    }
}

static void waiting_change(struct output *o, bool is_own, size_t more, size_t less)
{
    size_t *waiting = is_own ? &o->own_waiting : &o->rank_waiting;

    pthread_mutex_lock(&o->lock);
    *waiting += more;
    *waiting -= less;
    pthread_mutex_unlock(&o->lock);
}

/* Keeps account of what is last in the file of standard error. */
static void end_note(struct output *o, int rank, int stream, const char *bytes, size_t size)
{
    int source = rank < 0 ? SOURCE_OWN : stream_index(rank, stream);

    if (rank < 0 && stream != CHUNK_TEXT)
        return;
    pthread_mutex_lock(&o->lock);
    /* The end of a stream may write the line that it has left unfinished, below what came later. */
    if (source != o->end_source && (size || o->is_unfinished[source])) {
        o->end_source = source;
        o->end_size = 0;
    }
    o->end_size += size;
    if (rank >= 0)
        o->is_unfinished[source] = size && bytes[size - 1] != '\n';
    pthread_mutex_unlock(&o->lock);
}

static int64_t realtime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Takes over `c`. False: no thread could be started to write it, which the loop will report. */
static bool lane_push_chunk(struct lane *lane, struct writer_chunk *c)
{
    bool is_own = c->host == HOST_NONE;
    size_t size = c->size;
    struct fault why;

    c->at_ns = realtime_ns();
    if (lane == lane->output->err_lane)
        end_note(lane->output, c->rank, c->stream, c->bytes, size);
    waiting_change(lane->output, is_own, size, 0);
    if (writer_push(lane->writer, c, &why) == 0)
        return true;
    waiting_change(lane->output, is_own, 0, size);
    failure_note(lane->output, &why);
    eventfd_write(lane->output->bell, 1);
    return false;
}

/* NULL: there is no memory for it, which the loop will report. */
static struct writer_chunk *chunk_create(struct output *o, size_t size)
{
    struct writer_chunk *c = malloc(sizeof(*c) + size);
    struct fault why;

    if (!c) {
        fault_set(&why, ML_ERR_MEMORY, "out of memory for the ranks' output");
        failure_note(o, &why);
        eventfd_write(o->bell, 1);
        return NULL;
    }
    *c = (struct writer_chunk){.size = size};
    return c;
}

/* False: as above. */
static bool lane_push_cost(struct lane *lane, int host, int rank, int stream, const void *bytes,
                           size_t size, uint32_t cost)
{
    struct writer_chunk *c;

    if (size == 0 && !writer_is_used(lane->writer))
        return true; /* the end of a stream that has not begun */
    c = chunk_create(lane->output, size);
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

static bool lane_push(struct lane *lane, int host, int rank, int stream, const void *bytes,
                      size_t size)
{
    return lane_push_cost(lane, host, rank, stream, bytes, size, agent_output_cost(size));
}

/* True the first time. */
static bool cut_note(struct output *o)
{
    bool was_cut;

    pthread_mutex_lock(&o->lock);
    was_cut = o->is_cut;
    o->is_cut = true;
    pthread_mutex_unlock(&o->lock);
    return !was_cut;
}

/* With -vv each frame from an agent makes a line: an agent must not fill the memory by sending many
 * while nobody reads them. */
static void on_log_line(enum log_level level, const char *text, void *arg)
{
    const char *word = level == LOG_ERROR ? "error: " : level == LOG_WARN ? "warning: " : "";

    if (level < LOG_INFO || !output_is_behind(arg))
        output_say(arg, "%s%s", word, text);
    else if (cut_note(arg))
        output_say(arg, "warning: more happens than is read here; some lines of -v are left out");
}

static void fold_write(int rank, const char *bytes, size_t size, void *arg)
{
    lane_push(lane_of(arg, rank, 2), HOST_ANSWERED, rank, 2, bytes, size);
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
static void acknowledge_cost(struct output *o, int host, uint32_t cost)
{
    pthread_mutex_lock(&o->lock);
    o->written[host] += cost;
    pthread_mutex_unlock(&o->lock);
    eventfd_write(o->bell, 1);
}

static void acknowledge(struct output *o, int host, size_t size)
{
    acknowledge_cost(o, host, agent_output_cost(size));
}

/* Most ranks write nothing there. Where memory is short, the last words will be missing. */
static void words_note(struct output *o, int rank, const char *bytes, size_t size)
{
    if (!o->words[rank])
        o->words[rank] = calloc(1, sizeof(**o->words));
    if (o->words[rank])
        last_words_add(o->words[rank], bytes, size);
}

/* --- lines of several ranks -------------------------------------------------------------------
 */

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

/* Lines, or a piece of one rank, to the file. */
static void lines_push(struct output *o, int host, const struct line_ranks *ranks, int stream,
                       const char *bytes, size_t size, uint32_t cost)
{
    int rank = (int)ranks->ranges[0].first;
    size_t label = is_one(ranks) ? 0 : ranks_format(NULL, ranks);
    struct writer_chunk *c;

    if (label == 0) {
        lane_push_cost(lane_of(o, rank, stream), host, rank, stream, bytes, size, cost);
        return;
    }
    c = chunk_create(o, label + size);
    if (!c)
        return;
    c->host = host;
    c->rank = rank;
    c->stream = (uint8_t)stream;
    c->cost = cost;
    c->label = (uint32_t)label;
    ranks_format(c->bytes, ranks);
    memcpy(c->bytes + label, bytes, size);
    lane_push_chunk(lane_of(o, rank, stream), c);
}

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
        acknowledge_cost(o, host, cost);
    else if (o->merge)
        output_merge_lines(o->merge, host, &shown, stream, bytes, size, cost);
    else
        lines_push(o, host, &shown, stream, bytes, size, cost);
    free(some);
}

static void on_merged(int host, const struct line_ranks *ranks, int stream, const char *bytes,
                      size_t size, uint32_t cost, void *arg)
{
    if (size)
        lines_push(arg, host, ranks, stream, bytes, size, cost);
    else if (ranks)
        lane_push(lane_of(arg, (int)ranks->ranges[0].first, stream), HOST_ANSWERED,
                  (int)ranks->ranges[0].first, stream, NULL, 0);
    else
        acknowledge_cost(arg, host, cost);
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
    struct output *o = calloc(1, sizeof(*o));
    int rc;

    if (!o)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    o->events = *events;
    if (sink)
        o->sink = *sink;
    o->ranks = plan_places(p);
    o->shown = p->options->show ? &p->shown : NULL;
    o->hosts = plan_host_places(p);
    o->pty_rank = p->options->pty ? p->options->pty_rank : -1;
    o->with_time = p->options->timestamp;
    pthread_mutex_init(&o->lock, NULL);
    o->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    o->written = calloc((size_t)o->hosts, sizeof(*o->written));
    o->words = calloc((size_t)plan_places(p), sizeof(*o->words));
    o->is_unfinished = calloc(2 * (size_t)plan_places(p), sizeof(*o->is_unfinished));
    o->end_source = SOURCE_OWN;
    if (o->bell >= 0)
        o->on_bell = event_new(base, o->bell, EV_READ | EV_PERSIST, on_bell, o);
    if (!o->written || !o->words || !o->is_unfinished || !o->on_bell ||
        event_add(o->on_bell, NULL)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot prepare the output");
        goto fail;
    }
    rc = lanes_open(o, p, job, terminal, why);
    if (!rc && p->output == OUTPUT_LABEL && log_level() < LOG_INFO)
        rc = fold_open(o, base, why);
    if (!rc && p->output == OUTPUT_FOLD && p->host_count > 1)
        rc = output_merge_open(&o->merge, base, plan_places(p), plan_fold_ms(p), on_merged, o, why);
    if (rc)
        goto fail;
    log_to(on_log_line, o);
    log_debug("output: %s; standard output and standard error are %s",
              o->dir              ? "a file for each stream of each rank"
              : o->lanes[0].label ? "labelled lines"
                                  : "raw bytes",
              o->err_file == &o->out ? "the same file" : "two files");
    *out = o;
    return 0;
fail:
    output_close(o);
    return rc;
}

void output_close(struct output *o)
{
    if (!o)
        return;
    log_to(NULL, NULL);
    for (int i = 0; i < 3; i++)
        lane_close(&o->lanes[i]);
    output_dir_close(o->dir);
    output_restart(o);
    free(o->words);
    output_fold_destroy(o->fold);
    output_merge_close(o->merge);
    if (o->fold_end)
        event_free(o->fold_end);
    if (o->on_bell)
        event_free(o->on_bell);
    if (o->bell >= 0)
        close(o->bell);
    pthread_mutex_destroy(&o->lock);
    free(o->written);
    free(o->is_unfinished);
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
    lane_push(lane_of(o, rank, stream), HOST_ANSWERED, rank, stream, bytes, size);
}

static bool sink_keeps(struct output *o, int rank, int stream, const void *bytes, size_t size)
{
    struct fault why;
    int rc = 0;

    if (o->sink.on_bytes)
        rc = o->sink.on_bytes(o, rank, stream, bytes, size, o->sink.arg, &why);
    if (rc < 0) {
        failure_note(o, &why);
        eventfd_write(o->bell, 1);
    }
    return rc != 0;
}

void output_write(struct output *o, int host, int rank, int stream, const void *bytes, size_t size)
{
    struct lane *lane = lane_of(o, rank, stream);

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
    if (o->shown && !o->dir && rank != o->pty_rank && !rank_set_has(o->shown, rank))
        acknowledge(o, host, size);
    else if (o->merge && rank != o->pty_rank)
        output_merge_piece(o->merge, host, rank, stream, bytes, size, agent_output_cost(size));
    else
        lane_push(lane, host, rank, stream, bytes, size);
}

static void lanes_push(struct output *o, int what)
{
    for (int i = 0; i < 3; i++) {
        if (o->lanes[i].writer)
            lane_push(&o->lanes[i], HOST_NONE, -1, what, NULL, 0);
    }
}

void output_on_typed_line(struct output *o)
{
    lanes_push(o, CHUNK_TYPED);
}

void output_finish(struct output *o)
{
    output_merge_flush(o->merge);
    if (o->fold) {
        evtimer_del(o->fold_end);
        output_fold_release(o->fold);
    }
    lanes_push(o, CHUNK_FINISH);
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
        output_label_format_time(time, realtime_ns());
    at = (size_t)snprintf(text, sizeof(text), "%smlaunch: ", time);
    va_start(args, format);
    vsnprintf(text + at, sizeof(text) - 1 - at, format, args);
    va_end(args);
    printable_mend(text, "\n\t");
    at = strlen(text);
    text[at++] = '\n';
    if (!lane_push(o->err_lane, HOST_NONE, -1, CHUNK_TEXT, text, at))
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
    if (o->err_file->is_terminal)
        lane_push(o->err_lane, HOST_NONE, -1, CHUNK_PROGRESS, text, text ? strlen(text) : 0);
}

bool output_has_terminal(const struct output *o)
{
    return o->err_file->is_terminal;
}

bool output_is_behind(struct output *o)
{
    bool is_behind;

    pthread_mutex_lock(&o->lock);
    is_behind = o->own_waiting > OWN_WAITING_MAX;
    pthread_mutex_unlock(&o->lock);
    return is_behind;
}

size_t output_written(const struct output *o)
{
    size_t written = 0;

    for (int i = 0; i < 3; i++)
        written += o->lanes[i].buffer.written;
    return written;
}

size_t output_waiting(struct output *o)
{
    size_t waiting;

    pthread_mutex_lock(&o->lock);
    waiting = o->rank_waiting;
    pthread_mutex_unlock(&o->lock);
    return waiting;
}

bool output_is_idle(struct output *o)
{
    for (int i = 0; i < 3; i++) {
        if (o->lanes[i].writer && !writer_is_idle(o->lanes[i].writer))
            return false;
    }
    return true;
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
    int source = rank < 0 ? SOURCE_OWN : stream_index(rank, 2);
    size_t size;

    pthread_mutex_lock(&o->lock);
    size = o->end_source == source ? o->end_size : 0;
    pthread_mutex_unlock(&o->lock);
    return size;
}

const char *output_last_words(struct output *o, int rank, char *text, size_t size)
{
    static const struct last_words nothing;

    last_words_text(o->words[rank] ? o->words[rank] : &nothing, text, size);
    return o->dir ? output_dir_file(o->dir, rank, 2)->name : NULL;
}
