/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/terminal.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

enum { CRASHES = sizeof(crashes) / sizeof(*crashes) };

struct terminal {
    void (*on_size)(struct terminal_size size, void *arg);
    void *arg;
    struct event *resized;
    atomic_bool is_raw;
};

/* For a handler of signals, hence not part of the struct. */
static struct {
    struct termios modes; /* as they were */
    volatile sig_atomic_t is_changed;
    struct sigaction before[CRASHES];
} saved;

static void modes_restore(void)
{
    if (saved.is_changed)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved.modes);
    saved.is_changed = 0;
}

/* Restores the modes and the action that the signal had before, which it then meets: the failed
 * instruction is executed again, and abort() raises its signal again. */
static void crash_handle(int signal)
{
    modes_restore();
    for (int i = 0; i < CRASHES; i++) {
        if (crashes[i] == signal)
            sigaction(signal, &saved.before[i], NULL);
    }
    raise(signal);
}

static void on_resized(evutil_socket_t signal, short what, void *arg)
{
    struct terminal *t = arg;

    (void)signal, (void)what;
    t->on_size(terminal_size_find(), t->arg);
}

int terminal_open(struct terminal **out, struct event_base *base,
                  void (*on_size)(struct terminal_size size, void *arg), void *arg,
                  struct fault *why)
{
    struct terminal *t = calloc(1, sizeof(*t));
    struct sigaction crash = {.sa_handler = crash_handle};

    if (!t)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    t->on_size = on_size;
    t->arg = arg;
    t->resized = evsignal_new(base, SIGWINCH, on_resized, t);
    if (!t->resized || event_add(t->resized, NULL)) {
        if (t->resized)
            event_free(t->resized);
        free(t);
        return fault_set(why, ML_ERR_SYSTEM, "cannot watch the terminal's size");
    }
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &crash, &saved.before[i]);
    *out = t;
    return 0;
}

void terminal_close(struct terminal *t)
{
    if (!t)
        return;
    terminal_leave(t);
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &saved.before[i], NULL);
    event_free(t->resized);
    free(t);
}

void terminal_enter(struct terminal *t)
{
    struct termios raw;

    if (!t)
        return;
    /* SIGTTOU is ignored, so a process in the background could change the shell's modes. */
    if (tcgetpgrp(STDIN_FILENO) == getpgrp() &&
        (saved.is_changed || tcgetattr(STDIN_FILENO, &saved.modes) == 0)) {
        raw = saved.modes;
        cfmakeraw(&raw);
        atomic_store(&t->is_raw, true);
        saved.is_changed = 1;
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    t->on_size(terminal_size_find(), t->arg);
}

void terminal_leave(struct terminal *t)
{
    if (!t)
        return;
    modes_restore();
    atomic_store(&t->is_raw, false);
}

bool terminal_is_raw(const struct terminal *t)
{
    return t && atomic_load(&t->is_raw);
}
