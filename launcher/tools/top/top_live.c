/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_run.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/tools/top/top_kill.h"
#include "launcher/tools/top/top_picture.h"
#include "launcher/tools/top/top_sampler.h"
#include "launcher/tools/top/top_screen.h"

#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GATHER_MS = 40 /* answers of many hosts that come together are one picture */ };

static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
enum { SIGNALS = sizeof(watched_signals) / sizeof(*watched_signals) };

struct top_live {
    struct event_base *base;
    const struct query_command *c;
    int every_s, signal;
    struct top_sampler *sampler;
    struct top_screen *screen;
    struct top_view view;
    struct top_rows rows;
    struct top_picture picture;
    struct top_kill *kill;
    struct event *signals[SIGNALS], *keys, *gather;
    pthread_mutex_t lock; /* for `logged`: any thread may log */
    char logged[512];
    int rc;
    struct fault *why;
};

/* --- the picture ------------------------------------------------------------------------------ */

static void live_fail(struct top_live *l, int rc)
{
    l->rc = rc;
    event_base_loopbreak(l->base);
}

static void logged_take(struct top_live *l)
{
    pthread_mutex_lock(&l->lock);
    if (l->logged[0])
        snprintf(l->view.message, sizeof(l->view.message), "%s", l->logged);
    l->logged[0] = '\0';
    pthread_mutex_unlock(&l->lock);
    if (*l->c->job && l->rows.whole_count == 0 && l->rows.hosts_known && !l->view.message[0])
        snprintf(l->view.message, sizeof(l->view.message),
                 "there is no job %.200s here (any more); mlaunch ps lists all", l->c->job);
}

static void live_draw(struct top_live *l, bool is_anew)
{
    char clock[64] = "";
    time_t now = time(NULL);
    struct tm local;
    struct top_moment m = {clock_ns(), clock, l->every_s, &l->view.choice};

    if (localtime_r(&now, &local))
        strftime(clock, sizeof(clock), "mlaunch top, %T", &local);
    logged_take(l);
    top_picture_draw(&l->picture, &l->view, &l->rows, &m);
    top_screen_draw(l->screen, &l->picture, is_anew);
}

/* Makes the rows from what the hosts have said, as the view wants them. */
static int rows_renew(struct top_live *l)
{
    struct top_rows rows;
    int rc = top_rows_make(&rows, top_sampler_hosts(l->sampler), l->c->hosts->count,
                           &l->view.choice, l->why);

    if (rc) {
        live_fail(l, rc);
        return rc;
    }
    top_rows_clear(&l->rows);
    l->rows = rows;
    top_view_settle(&l->view, &l->rows, top_picture_page(l->picture.height));
    return 0;
}

static void live_on_gathered(evutil_socket_t fd, short what, void *arg)
{
    struct top_live *l = arg;

    (void)fd, (void)what;
    if (!rows_renew(l))
        live_draw(l, false);
}

/* The rows refer to what the hosts have said before, so that they go at once. */
static void live_on_change(bool is_whole, void *arg)
{
    static const struct timeval soon = {.tv_usec = GATHER_MS * 1000};
    struct top_live *l = arg;

    (void)is_whole;
    if (!rows_renew(l) && !evtimer_pending(l->gather, NULL))
        evtimer_add(l->gather, &soon);
}

static void picture_fit(struct top_live *l)
{
    int rc = top_picture_resize(&l->picture, top_screen_height(l->screen), l->why);

    if (rc)
        live_fail(l, rc);
    else if (!rows_renew(l))
        live_draw(l, true);
}

/* --- keys and signals ------------------------------------------------------------------------- */

static void live_on_killed(const char *text, void *arg)
{
    struct top_live *l = arg;

    snprintf(l->view.message, sizeof(l->view.message), "%s", text);
    top_kill_close(l->kill);
    l->kill = NULL;
    live_draw(l, false);
}

static void kill_begin(struct top_live *l)
{
    struct fault why;

    if (l->kill)
        snprintf(l->view.message, sizeof(l->view.message), "a job is still being ended");
    else if (top_kill_start(&l->kill, l->base, l->c->line.borrowed.items, l->view.kill,
                            live_on_killed, l, &why))
        snprintf(l->view.message, sizeof(l->view.message), "%s", why.text);
    else
        snprintf(l->view.message, sizeof(l->view.message), "job %s is being ended", l->view.kill);
}

/* False: there is nothing more to do. */
static bool key_take(struct top_live *l, int key)
{
    size_t page = top_picture_page(l->picture.height);

    switch (top_view_key(&l->view, key, &l->rows, page)) {
    case TOP_QUIT:
        event_base_loopbreak(l->base);
        return false;
    case TOP_FOLD:
        return rows_renew(l) == 0;
    case TOP_KILL:
        kill_begin(l);
        return true;
    case TOP_REPAINT:
        live_draw(l, true);
        return true;
    default:
        return true;
    }
}

static void live_on_keys(evutil_socket_t fd, short what, void *arg)
{
    struct top_live *l = arg;
    struct pollfd terminal = {.fd = fd};
    int key;

    (void)what;
    while ((key = top_screen_key(l->screen)) != TOP_KEY_NONE)
        if (!key_take(l, key))
            return;
    if (poll(&terminal, 1, 0) > 0) { /* without asking for input: it has gone */
        l->signal = SIGHUP;
        event_base_loopbreak(l->base);
        return;
    }
    live_draw(l, false);
}

static void live_on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct top_live *l = arg;

    (void)what;
    if (signal == SIGWINCH || signal == SIGCONT) {
        top_screen_resize(l->screen);
        picture_fit(l);
        return;
    }
    l->signal = signal;
    event_base_loopbreak(l->base);
}

static void live_on_log(enum log_level level, const char *text, void *arg)
{
    struct top_live *l = arg;

    (void)level;
    pthread_mutex_lock(&l->lock);
    snprintf(l->logged, sizeof(l->logged), "%s", text);
    pthread_mutex_unlock(&l->lock);
}

/* --- from beginning to end -------------------------------------------------------------------- */

static int events_add(struct top_live *l)
{
    for (int i = 0; i < SIGNALS; i++) {
        l->signals[i] = evsignal_new(l->base, watched_signals[i], live_on_signal, l);
        if (!l->signals[i] || event_add(l->signals[i], NULL))
            return fault_set(l->why, ML_ERR_MEMORY, "out of memory");
    }
    l->gather = evtimer_new(l->base, live_on_gathered, l);
    l->keys = event_new(l->base, STDIN_FILENO, EV_READ | EV_PERSIST, live_on_keys, l);
    if (!l->gather || !l->keys || event_add(l->keys, NULL))
        return fault_set(l->why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

static void live_end(struct top_live *l)
{
    top_kill_close(l->kill);
    top_sampler_close(l->sampler);
    log_to(NULL, NULL);
    top_screen_close(l->screen);
    for (int i = 0; i < SIGNALS; i++)
        if (l->signals[i])
            event_free(l->signals[i]);
    if (l->gather)
        event_free(l->gather);
    if (l->keys)
        event_free(l->keys);
    top_rows_clear(&l->rows);
    top_picture_clear(&l->picture);
    top_choice_clear(&l->view.choice);
    pthread_mutex_destroy(&l->lock);
}

int top_live_run(struct event_base *base, const struct query_command *c, int every_s,
                 enum top_column column, int *status, struct fault *why)
{
    struct top_live l = {.base = base, .c = c, .every_s = every_s, .why = why};
    int rc;

    pthread_mutex_init(&l.lock, NULL);
    l.view.choice.column = column;
    rc = top_screen_open(&l.screen, why);
    if (!rc) {
        log_to(live_on_log, &l);
        rc = top_sampler_open(&l.sampler, base, c, every_s, live_on_change, &l, why);
    }
    if (!rc)
        rc = events_add(&l);
    if (!rc) {
        picture_fit(&l);
        rc = l.rc;
    }
    if (!rc) {
        event_base_dispatch(base);
        rc = l.rc;
    }
    *status = l.signal ? STATUS_SIGNAL + l.signal : 0;
    live_end(&l);
    return rc;
}
