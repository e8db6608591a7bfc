/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/input.h"

#include "common/log.h"
#include "launcher/base/process/side_thread.h"
#include "launcher/run/stdio/terminal.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10 };

/*
 * One buffer, which the loop and the thread own in turns:
 *
 *            loop: ranks have room                thread: read()
 *     FULL ─────────────────────────▶ WANTED ─────────────────────▶ FULL (size 0: end of file)
 *                                       ▲ │ thread: in the background
 *                        loop: SIGCONT  │ ▼
 *                                     ASLEEP
 */
enum turn { TURN_FULL, TURN_WANTED, TURN_ASLEEP };

/* One for each rank. */
struct taker {
    bool takes;       /* the rank gets stdin and has not ended */
    uint32_t pending; /* bytes sent to it that it has not consumed */
};

struct input {
    void (*send)(int rank, const void *bytes, size_t size, void *arg);
    void *arg;
    enum stdin_mode mode;
    int rank, ranks;
    struct terminal *terminal; /* or NULL */
    struct taker *takers;
    int takers_left;
    bool running, at_end;
    bool is_stalled; /* for the log: some rank has no room */

    struct side_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    enum turn turn;
    int bell;
    struct event *on_bell;
    ssize_t size; /* bytes in the buffer; 0: end of file; -1: nothing yet */
    int err;      /* why reading ended, or 0 */
    char *buffer; /* READ_SIZE bytes */
};

static bool is_in_background(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);

    return foreground >= 0 && foreground != getpgrp();
}

enum stdin_mode input_mode(const struct plan *p)
{
    return is_in_background() ? STDIN_NONE : p->job.stdin_mode;
}

static void turn_wait(struct input *in)
{
    pthread_mutex_lock(&in->lock);
    while (in->turn != TURN_WANTED && !side_thread_is_stopping(&in->thread))
        pthread_cond_wait(&in->wake, &in->lock);
    pthread_mutex_unlock(&in->lock);
}

static void turn_set(struct input *in, enum turn turn)
{
    pthread_mutex_lock(&in->lock);
    in->turn = turn;
    pthread_cond_signal(&in->wake);
    pthread_mutex_unlock(&in->lock);
}

/* Returns -1 if mlaunch is in the background or the thread must end; 0 at end of file or after a
 * failure. */
static ssize_t input_read(struct input *in)
{
    while (!side_thread_is_stopping(&in->thread)) {
        ssize_t n;

        /* First wait, then check whether the terminal is ours: what the user types after Ctrl-Z and
         * `bg` is for the shell. SIGTTIN is ignored, so reading in the background gives EIO. */
        poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, -1);
        if (is_in_background())
            return -1;
        n = read(STDIN_FILENO, in->buffer, READ_SIZE);
        if (n >= 0)
            return n;
        if (errno == EIO && is_in_background())
            return -1;
        if (errno != EINTR && errno != EAGAIN) {
            in->err = errno;
            return 0;
        }
    }
    return -1;
}

static void *input_run(void *arg)
{
    struct input *in = arg;

    for (;;) {
        ssize_t n;

        turn_wait(in);
        if (side_thread_is_stopping(&in->thread))
            return NULL;
        n = input_read(in);
        in->size = n;
        turn_set(in, n < 0 ? TURN_ASLEEP : TURN_FULL);
        if (n >= 0)
            eventfd_write(in->bell, 1);
        if (n == 0)
            return NULL;
    }
}

static bool takers_have_room(const struct input *in)
{
    for (int i = 0; i < in->ranks; i++) {
        const struct taker *t = &in->takers[i];

        if (t->takes && t->pending + (size_t)in->size > AGENT_STDIN_WINDOW)
            return false;
    }
    return true;
}

static void takers_send(struct input *in)
{
    for (int i = 0; i < in->ranks; i++) {
        if (in->takers[i].takes) {
            in->takers[i].pending += (uint32_t)in->size;
            if (in->mode != STDIN_ALL)
                in->send(i, in->buffer, (size_t)in->size, in->arg);
        }
    }
    if (in->mode == STDIN_ALL && in->takers_left > 0)
        in->send(INPUT_ALL, in->buffer, (size_t)in->size, in->arg);
}

static bool turn_is(struct input *in, enum turn turn)
{
    bool is;

    pthread_mutex_lock(&in->lock);
    is = in->turn == turn;
    pthread_mutex_unlock(&in->lock);
    return is;
}

/* Passes on what has been read once every taker has room for it, and lets the thread read more. */
static void input_deliver(struct input *in)
{
    if (!in->running || in->takers_left == 0 || in->at_end || !turn_is(in, TURN_FULL))
        return;
    if (in->size >= 0 && !takers_have_room(in)) {
        if (!in->is_stalled)
            log_debug("standard input: waiting for credit of the ranks");
        in->is_stalled = true;
        return;
    }
    in->is_stalled = false;
    if (in->size >= 0)
        takers_send(in);
    if (in->size == 0) {
        in->at_end = true;
        log_debug("standard input: end of file");
        if (in->err && in->err != EBADF && in->err != EIO)
            log_warn("cannot read standard input: %s", strerror(in->err));
        return;
    }
    in->size = -1;
    turn_set(in, TURN_WANTED);
}

static void on_bell(evutil_socket_t fd, short what, void *arg)
{
    eventfd_t count;

    (void)what;
    if (eventfd_read(fd, &count) == 0)
        input_deliver(arg);
}

/* The null device is always at its end, so no thread need wait for it. */
static bool is_null_device(int fd)
{
    struct stat input, null;

    return fstat(fd, &input) == 0 && S_ISCHR(input.st_mode) && stat("/dev/null", &null) == 0 &&
           S_ISCHR(null.st_mode) && input.st_rdev == null.st_rdev;
}

int input_open(struct input **out, struct event_base *base, const struct plan *p,
               enum stdin_mode mode,
               void (*send)(int rank, const void *bytes, size_t size, void *arg), void *arg,
               struct fault *why)
{
    struct input *in = calloc(1, sizeof(*in));
    int rc = 0;

    if (!in)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    in->send = send;
    in->arg = arg;
    in->mode = mode;
    in->rank = p->job.stdin_rank;
    in->ranks = plan_places(p);
    in->turn = TURN_FULL;
    in->size = is_null_device(STDIN_FILENO) ? 0 : -1;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->wake, NULL);
    in->takers = calloc((size_t)plan_places(p), sizeof(*in->takers));
    in->buffer = malloc(READ_SIZE);
    in->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (in->bell >= 0)
        in->on_bell = event_new(base, in->bell, EV_READ | EV_PERSIST, on_bell, in);
    if (!in->takers || !in->buffer || !in->on_bell || event_add(in->on_bell, NULL))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot prepare standard input");
    else if (mode != STDIN_NONE && in->size < 0)
        rc = side_thread_start(&in->thread, input_run, in, "standard input", why);
    if (rc) {
        input_close(in);
        return rc;
    }
    *out = in;
    return 0;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    side_thread_ask_to_stop(&in->thread);
    turn_set(in, TURN_FULL); /* wakes it */
    side_thread_stop(&in->thread);
    if (in->on_bell)
        event_free(in->on_bell);
    if (in->bell >= 0)
        close(in->bell);
    pthread_cond_destroy(&in->wake);
    pthread_mutex_destroy(&in->lock);
    free(in->takers);
    free(in->buffer);
    free(in);
}

void input_use_terminal(struct input *in, struct terminal *t)
{
    in->terminal = t;
}

/* The rank that gets input is the one with the terminal. */
static void terminal_update(struct input *in)
{
    if (in->running && in->takers_left > 0)
        terminal_enter(in->terminal);
    else
        terminal_leave(in->terminal);
}

void input_start(struct input *in)
{
    in->takers_left = 0;
    for (int i = 0; i < in->ranks; i++) {
        bool takes = in->mode == STDIN_ALL || (in->mode == STDIN_RANK && i == in->rank);

        in->takers[i] = (struct taker){.takes = takes};
        in->takers_left += takes;
    }
    in->running = true;
    terminal_update(in);
    if (in->at_end)
        takers_send(in); /* an earlier run has got the end of file */
    input_deliver(in);
}

void input_on_credit(struct input *in, int rank, uint32_t bytes)
{
    struct taker *t = &in->takers[rank];

    t->pending -= bytes < t->pending ? bytes : t->pending;
    input_deliver(in);
}

void input_rank_ended(struct input *in, int rank)
{
    if (!in->takers[rank].takes)
        return;
    in->takers[rank].takes = false;
    in->takers_left--;
    terminal_update(in);
    input_deliver(in);
}

void input_wake(struct input *in)
{
    terminal_update(in);
    if (turn_is(in, TURN_ASLEEP))
        turn_set(in, TURN_WANTED);
}
