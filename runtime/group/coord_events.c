/* SPDX-License-Identifier: MIT */
#include "runtime/group/coord_events.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_news.h"
#include "runtime/group/door.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DOOR_MS = 10 };

struct coord_events {
    pthread_mutex_t lock; /* over all of the below and the groups' inboxes */
    struct client *client;
    struct fault lost;     /* code != 0: the connection is gone */
    _Atomic bool is_lost;  /* the same, for threads without the lock */
    struct group *watcher; /* whose sleeping thread polls the connection; NULL: none */
    struct coord_news news;
    _Atomic uint32_t serial;
};

int coord_events_open(struct coord_events **out, struct client *c, int size, const char *dir,
                      struct fault *why)
{
    struct coord_events *e = calloc(1, sizeof(*e));
    int rc;

    if (!e)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = coord_news_open(&e->news, size, dir, why);
    if (rc) {
        free(e);
        return rc;
    }
    pthread_mutex_init(&e->lock, NULL);
    e->client = c;
    if (c)
        fork_guard_add(client_fd(c));
    *out = e;
    return 0;
}

void coord_events_close(struct coord_events *e)
{
    if (!e)
        return;
    if (e->client) {
        fork_guard_forget(client_fd(e->client));
        client_close(e->client);
    }
    coord_news_close(&e->news);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* A lost connection would be readable for ever. */
int coord_events_fd(const struct coord_events *e)
{
    return e->client && !atomic_load(&e->is_lost) ? client_fd(e->client) : -1;
}

uint32_t coord_events_serial(const struct coord_events *e)
{
    return atomic_load_explicit(&e->serial, memory_order_acquire);
}

void coord_events_add(struct coord_events *e, struct group *g)
{
    pthread_mutex_lock(&e->lock);
    coord_news_add(&e->news, g);
    pthread_mutex_unlock(&e->lock);
}

int coord_events_remove(struct coord_events *e, struct group *g)
{
    int bell;

    pthread_mutex_lock(&e->lock);
    coord_news_remove(&e->news, g);
    bell = g->waiting.bell;
    g->waiting.bell = -1;
    pthread_mutex_unlock(&e->lock);
    return bell;
}

struct group *coord_events_other_group(struct coord_events *e, const struct group *than)
{
    struct group *g;

    pthread_mutex_lock(&e->lock);
    for (g = e->news.groups; g && g == than; g = g->inbox.next)
        continue;
    pthread_mutex_unlock(&e->lock);
    return g;
}

struct group *coord_events_busy_group(struct coord_events *e)
{
    struct group *g;

    pthread_mutex_lock(&e->lock);
    for (g = e->news.groups; g && !group_is_busy(g); g = g->inbox.next)
        continue;
    pthread_mutex_unlock(&e->lock);
    return g;
}

/* Wakes those whom what has been read concerns, and no others: a window's thread sleeps for its
 * whole life, and there may be a thousand of them. */
static void coord_events_ring(struct coord_events *e, const struct group *reader)
{
    for (struct group *g = e->news.groups; g; g = g->inbox.next) {
        bool is_due = g->inbox.has_come || e->news.concerns_all;

        g->inbox.has_come = false;
        if (is_due && g != reader && g->waiting.bell >= 0)
            bell_ring(g->waiting.bell);
    }
    e->news.concerns_all = false;
}

void coord_events_move(struct coord_events *e, struct client *c)
{
    struct client *lost;

    pthread_mutex_lock(&e->lock);
    lost = e->client;
    e->client = c;
    /* Nobody tells them any more, and they may not have seen the loss yet. */
    for (struct group *g = e->news.groups; g; g = g->inbox.next) {
        g->inbox.answer = (struct answer){.has_come = true, .failed = e->lost};
        if (!g->inbox.broken.code)
            g->inbox.broken = e->lost;
    }
    e->news.concerns_all = true;
    e->lost = e->news.failed = (struct fault){0};
    atomic_store(&e->is_lost, false);
    fork_guard_forget(client_fd(lost));
    fork_guard_add(client_fd(c));
    pthread_mutex_unlock(&e->lock);
    client_close(lost);
}

static void coord_events_read_locked(struct coord_events *e, const struct group *reader)
{
    struct frame f;
    struct fault why = {0};
    bool any = false;
    int rc;

    if (!e->client || e->lost.code)
        return;
    while ((rc = client_poll(e->client, &f, &why)) > 0) {
        rc = coord_news_take(&e->news, &f, &why);
        if (rc < 0)
            break;
        any = true;
    }
    if (rc < 0) {
        fault_set(&e->lost, rc == ML_ERR_MEMORY ? rc : ML_ERR_PEER, "%s", why.text);
        atomic_store(&e->is_lost, true);
        e->news.concerns_all = any = true;
    }
    if (!any)
        return;
    atomic_fetch_add_explicit(&e->serial, 1, memory_order_release);
    coord_events_ring(e, reader);
}

void coord_events_read(struct coord_events *e, const struct group *reader)
{
    pthread_mutex_lock(&e->lock);
    coord_events_read_locked(e, reader);
    pthread_mutex_unlock(&e->lock);
}

int coord_events_sleep_begin(struct coord_events *e, struct group *g)
{
    int fd = coord_events_fd(e);

    if (fd < 0 || g->waiting.bell < 0)
        return fd;
    pthread_mutex_lock(&e->lock);
    g->inbox.sleeps = true;
    if (!e->watcher)
        e->watcher = g;
    if (e->watcher != g)
        fd = -1;
    pthread_mutex_unlock(&e->lock);
    return fd;
}

void coord_events_sleep_end(struct coord_events *e, struct group *g)
{
    struct group *heir = NULL;

    if (!e->client || g->waiting.bell < 0)
        return;
    pthread_mutex_lock(&e->lock);
    g->inbox.sleeps = false;
    if (e->watcher == g)
        e->watcher = NULL;
    if (!e->watcher)
        heir = e->news.groups;
    while (heir && !heir->inbox.sleeps)
        heir = heir->inbox.next;
    if (heir)
        bell_ring(heir->waiting.bell); /* it begins to sleep again, as the watcher */
    pthread_mutex_unlock(&e->lock);
}

static int coord_events_broken_locked(const struct coord_events *e, const struct group *g,
                                      struct fault *why)
{
    const struct fault *f = g->inbox.broken.code ? &g->inbox.broken : &e->lost;

    if (f->code && why)
        *why = *f;
    return f->code;
}

int coord_events_broken(struct coord_events *e, const struct group *g, struct fault *why)
{
    int rc;

    pthread_mutex_lock(&e->lock);
    rc = coord_events_broken_locked(e, g, why);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

enum peer_state coord_events_peer(struct coord_events *e, int rank, struct fault *why)
{
    enum peer_state state;

    pthread_mutex_lock(&e->lock);
    state = coord_news_peer(&e->news, rank, why);
    pthread_mutex_unlock(&e->lock);
    return state;
}

json_t *coord_events_mail(struct coord_events *e, struct group *g, int *from)
{
    struct mail *m;
    json_t *word = NULL;

    pthread_mutex_lock(&e->lock);
    m = coord_news_mail(&g->inbox.mail);
    pthread_mutex_unlock(&e->lock);
    if (m) {
        word = m->word;
        *from = m->from;
    }
    free(m);
    return word;
}

void coord_events_knocks(struct coord_events *e, int fd)
{
    pthread_mutex_lock(&e->lock);
    e->news.knock_fd = fd;
    pthread_mutex_unlock(&e->lock);
}

bool coord_events_knock(struct coord_events *e, struct knock *out)
{
    struct mail *m;

    pthread_mutex_lock(&e->lock);
    m = coord_news_mail(&e->news.knocks);
    pthread_mutex_unlock(&e->lock);
    if (!m)
        return false;
    *out = (struct knock){m->group, m->from, m->word};
    free(m);
    return true;
}

int coord_events_send_bytes(struct coord_events *e, uint8_t type, const void *payload,
                            uint32_t size, struct fault *why)
{
    int rc;

    if (!e->client)
        return 0;
    pthread_mutex_lock(&e->lock);
    if (e->lost.code) {
        if (why)
            *why = e->lost;
        rc = e->lost.code;
    } else {
        rc = client_send(e->client, type, payload, size, why);
    }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

int coord_events_send(struct coord_events *e, uint8_t type, json_t *payload, struct fault *why)
{
    char *text = json_dumps(payload, JSON_COMPACT);
    int rc;

    json_decref(payload);
    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = coord_events_send_bytes(e, type, text, (uint32_t)strlen(text), why);
    free(text);
    return rc;
}

void coord_events_break(struct coord_events *e, const struct group *g, const struct fault *why)
{
    if (g->size > 1)
        coord_events_send(e, COORD_BREAK,
                          json_pack("{s:I, s:i, s:o}", "group", (json_int_t)g->id, "code",
                                    why->code, "text", text_json(why->text)),
                          NULL);
}

void coord_events_end_call(struct coord_events *e, struct group *g, const struct fault *why)
{
    pthread_mutex_lock(&e->lock);
    if (!g->inbox.broken.code)
        g->inbox.broken = *why;
    if (!g->inbox.answer.has_come)
        g->inbox.answer = (struct answer){.has_come = true, .failed = *why};
    atomic_fetch_add_explicit(&e->serial, 1, memory_order_release);
    if (g->waiting.bell >= 0)
        bell_ring(g->waiting.bell);
    pthread_mutex_unlock(&e->lock);
}

/* Sleeps until the coordinator or another thread has news, at most until deadline_ms (-1: without
 * end). */
static int coord_events_sleep(struct coord_events *e, struct group *g, int64_t deadline_ms,
                              struct fault *why)
{
    struct door *door = g ? g->world->door : NULL;
    struct pollfd p[3] = {
        {.fd = g ? coord_events_sleep_begin(e, g) : coord_events_fd(e), .events = POLLIN},
        {.fd = g ? g->waiting.bell : -1, .events = POLLIN},
        {.fd = door ? door->fd : -1, .events = POLLIN}};
    int rc = clock_poll(p, door ? 3 : 2, deadline_ms);
    int err = errno;

    if (rc > 0 && p[0].revents)
        coord_events_read(e, g);
    if (rc > 0 && p[1].revents)
        bell_silence(g->waiting.bell);
    if (g)
        coord_events_sleep_end(e, g);
    if (rc < 0 && err != EINTR)
        return fault_os(why, ML_ERR_SYSTEM, err, "poll");
    if (rc == 0)
        return fault_set(why, ML_ERR_TIMEOUT, "no answer from the coordinator in time");
    /* If there is no descriptor to answer others with, the door is left alone for a moment. */
    if (rc > 0 && door && p[2].revents && door->look(door, g, NULL) != 0)
        poll(p, 2, DOOR_MS);
    return 0;
}

/* 1: out is filled; 0: not yet; otherwise the code for which it will never come. */
static int coord_events_take_reply(struct coord_events *e, struct group *g, struct reply *out,
                                   struct fault *why)
{
    int rc;

    pthread_mutex_lock(&e->lock);
    coord_events_read_locked(e, g);
    rc = 0;
    if (g->inbox.reply.payload && g->inbox.reply.seq == g->exchanges) {
        *out = g->inbox.reply;
        g->inbox.reply = (struct reply){0};
        rc = 1;
    }
    if (!rc)
        rc = coord_events_broken_locked(e, g, why);
    /* The coordinator sends in order: if the answer had been complete before that member went, it
     * would be here. */
    for (int i = 0; i < g->size && !rc; i++)
        if (coord_news_peer(&e->news, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    pthread_mutex_unlock(&e->lock);
    return rc;
}

int coord_events_await(struct coord_events *e, struct group *g, int64_t deadline_ms,
                       struct reply *out, struct fault *why)
{
    struct wait_noted noted = {0};
    int rc;

    do {
        rc = coord_events_take_reply(e, g, out, why);
        if (rc != 0)
            break;
        rc = coord_events_sleep(e, g, wait_noted_deadline(&noted, deadline_ms), why);
        if (rc == ML_ERR_TIMEOUT && wait_noted_look(&noted, g))
            rc = 0;
    } while (!rc);
    wait_noted_end(&noted, g);
    return rc > 0 ? 0 : rc;
}

int coord_events_break_first(struct coord_events *e, struct group *g, struct fault *why)
{
    int64_t deadline_ms = clock_ms() + PEER_WORD_MS;
    struct fault first;

    if (g->size == 1)
        return why->code;
    coord_events_break(e, g, why);
    do {
        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, g);
        first = g->inbox.broken;
        pthread_mutex_unlock(&e->lock);
        if (first.code)
            *why = first;
    } while (!first.code && coord_events_fd(e) >= 0 &&
             coord_events_sleep(e, g, deadline_ms, &first) == 0);
    return why->code;
}

int coord_events_await_welcome(struct coord_events *e, int64_t deadline_ms, json_t **welcome,
                               struct fault *why)
{
    for (;;) {
        struct fault bad;
        json_t *j;
        int rc;

        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, NULL);
        j = json_incref(e->news.welcome);
        bad = e->news.failed.code ? e->news.failed : e->lost;
        pthread_mutex_unlock(&e->lock);
        if (j) {
            *welcome = j;
            return 0;
        }
        if (bad.code) {
            *why = bad;
            return bad.code;
        }
        rc = coord_events_sleep(e, NULL, deadline_ms, why);
        if (rc)
            return rc;
    }
}

int coord_events_await_left(struct coord_events *e, int rank, int64_t deadline_ms,
                            struct fault *why)
{
    for (;;) {
        struct fault gone;
        int rc;

        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, NULL);
        rc = coord_news_peer(&e->news, rank, &gone) == PEER_LEFT ? 1 : e->lost.code;
        pthread_mutex_unlock(&e->lock);
        if (rc)
            return rc > 0 ? 0 : fault_set(why, rc, "lost the job's coordinator");
        rc = coord_events_sleep(e, NULL, deadline_ms, why);
        if (rc)
            return rc;
    }
}

int coord_events_await_repaired(struct coord_events *e, struct group *g, int64_t deadline_ms,
                                int margin_ms, json_t **repaired, struct fault *why)
{
    for (;;) {
        struct fault bad;
        int rc;

        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, g);
        *repaired = e->news.repaired;
        e->news.repaired = NULL;
        bad = e->news.failed.code ? e->news.failed : e->lost;
        e->news.failed = (struct fault){0};
        if (deadline_ms < e->news.awaits_ms + margin_ms)
            deadline_ms = e->news.awaits_ms + margin_ms;
        pthread_mutex_unlock(&e->lock);
        if (*repaired)
            return 0;
        if (bad.code) {
            *why = bad;
            return bad.code;
        }
        rc = coord_events_sleep(e, g, deadline_ms, why);
        if (rc)
            return rc;
    }
}

void coord_events_keeps_alone(struct coord_events *e, const char *why)
{
    /* If the coordinator is lost, calls notice it. */
    coord_events_send(e, COORD_ALONE, json_pack("{s:o}", "text", text_json(why)), NULL);
}

/* 1: it is there. 0: not yet. */
static int coord_events_take_answer(struct coord_events *e, struct group *g, uint64_t *value,
                                    struct fault *why)
{
    struct answer a;
    struct fault lost;

    pthread_mutex_lock(&e->lock);
    coord_events_read_locked(e, g);
    a = g->inbox.answer;
    g->inbox.answer = (struct answer){0};
    lost = e->lost;
    pthread_mutex_unlock(&e->lock);
    if (!a.has_come)
        a.failed = lost;
    if (a.failed.code) {
        *why = a.failed;
        return why->code;
    }
    if (a.has_come)
        *value = a.value;
    return a.has_come;
}

int coord_events_await_answer(struct coord_events *e, struct group *g, const char *call,
                              uint64_t *value, struct fault *why)
{
    struct waiting_call waits = {call, call, 0, json_array()};
    struct wait_noted noted = {0};
    int rc;

    while ((rc = coord_events_take_answer(e, g, value, why)) == 0) {
        rc = coord_events_sleep(e, g, wait_noted_deadline(&noted, -1), why);
        if (rc && rc != ML_ERR_TIMEOUT)
            break;
        wait_noted_look_call(&noted, g, &waits);
    }
    wait_noted_end(&noted, g);
    json_decref(waits.peers);
    return rc > 0 ? 0 : rc;
}

uint32_t coord_events_groups_end(struct coord_events *e)
{
    uint32_t end;

    pthread_mutex_lock(&e->lock);
    end = e->news.groups_end;
    pthread_mutex_unlock(&e->lock);
    return end;
}

bool coord_events_has_changed(const struct coord_events *e)
{
    return atomic_load_explicit(&e->news.has_changed, memory_order_relaxed);
}
