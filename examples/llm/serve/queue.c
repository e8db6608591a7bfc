/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "../steps/monotonic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* All of it is the lock's. */
struct ticket_state {
    struct ticket *next;         /* in the list of those that wait */
    struct ticket *next_changed; /* in the list of those with news */
    bool is_waiting, is_changed, is_left, is_ended;
    size_t room;
    uint32_t report_room;
    struct ticket_news news;
};

struct queue {
    uint32_t most, slots;
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct ticket *waiting, *waiting_last;
    struct ticket *changed, *changed_last;
    uint32_t waiting_count, running_count;
    bool is_stopping, is_closed;
    int64_t stop_ms;
    char reason[QUEUE_REASON_ROOM], loss[QUEUE_REASON_ROOM];
};

struct ticket *ticket_create(void)
{
    struct ticket *t = calloc(1, sizeof(*t));

    if (t)
        t->state = calloc(1, sizeof(*t->state));
    if (t && !t->state) {
        free(t);
        t = NULL;
    }
    return t;
}

void ticket_free(struct ticket *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->order.stop_count; i++)
        free(t->order.stops[i]);
    free(t->order.stops);
    free(t->order.prompt);
    free(t->state->news.text);
    free(t->state->news.reports);
    free(t->state);
    free(t);
}

struct queue *queue_open(uint32_t most, uint32_t slots)
{
    struct queue *q = calloc(1, sizeof(*q));
    pthread_condattr_t attr;

    if (!q)
        return NULL;
    q->most = most;
    q->slots = slots;
    q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (q->fd < 0) {
        free(q);
        return NULL;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->came, &attr);
    pthread_condattr_destroy(&attr);
    return q;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    close(q->fd);
    pthread_cond_destroy(&q->came);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* Both under the lock. The descriptor becomes readable with the first of the list. */
static void changed_add(struct queue *q, struct ticket *t)
{
    if (t->state->is_changed || t->state->is_left)
        return;
    t->state->is_changed = true;
    t->state->next_changed = NULL;
    if (q->changed)
        q->changed_last->state->next_changed = t;
    else
        q->changed = t;
    q->changed_last = t;
    eventfd_write(q->fd, 1);
}

static void changed_remove(struct queue *q, struct ticket *t)
{
    struct ticket **at = &q->changed, *before = NULL;

    if (!t->state->is_changed)
        return;
    while (*at != t) {
        before = *at;
        at = &before->state->next_changed;
    }
    *at = t->state->next_changed;
    if (q->changed_last == t)
        q->changed_last = before;
    t->state->is_changed = false;
}

static void waiting_remove(struct queue *q, struct ticket *t)
{
    struct ticket **at = &q->waiting, *before = NULL;

    while (*at != t) {
        before = *at;
        at = &before->state->next;
    }
    *at = t->state->next;
    if (q->waiting_last == t)
        q->waiting_last = before;
    t->state->is_waiting = false;
    q->waiting_count--;
}

/* Under the lock. */
static void waiting_add(struct queue *q, struct ticket *t)
{
    t->state->is_waiting = true;
    t->state->next = NULL;
    t->state->news.put_ns = monotonic_ns();
    if (q->waiting)
        q->waiting_last->state->next = t;
    else
        q->waiting = t;
    q->waiting_last = t;
    q->waiting_count++;
}

enum queue_refusal queue_put(struct queue *q, struct ticket *const *tickets, uint32_t count)
{
    enum queue_refusal refusal = QUEUE_ACCEPTED;

    pthread_mutex_lock(&q->lock);
    if (q->reason[0])
        refusal = QUEUE_CLOSED;
    else if (count > q->most + q->slots ||
             q->waiting_count + q->running_count > q->most + q->slots - count)
        refusal = QUEUE_FULL;
    for (uint32_t i = 0; i < count && !refusal; i++)
        waiting_add(q, tickets[i]);
    if (!refusal)
        pthread_cond_signal(&q->came);
    pthread_mutex_unlock(&q->lock);
    return refusal;
}

int queue_fd(const struct queue *q)
{
    return q->fd;
}

struct ticket *queue_changed(struct queue *q)
{
    struct ticket *t;
    eventfd_t count;

    pthread_mutex_lock(&q->lock);
    eventfd_read(q->fd, &count);
    t = q->changed;
    if (t)
        changed_remove(q, t);
    if (q->changed)
        eventfd_write(q->fd, 1);
    pthread_mutex_unlock(&q->lock);
    return t;
}

void queue_news(struct queue *q, struct ticket *t, struct ticket_news *out)
{
    struct ticket_news *news = &t->state->news;

    pthread_mutex_lock(&q->lock);
    *out = *news;
    news->text = NULL;
    news->length = 0;
    news->reports = NULL;
    news->report_count = 0;
    t->state->room = t->state->report_room = 0;
    pthread_mutex_unlock(&q->lock);
}

void queue_leave(struct queue *q, struct ticket *t)
{
    bool is_last;

    pthread_mutex_lock(&q->lock);
    changed_remove(q, t);
    if (t->state->is_waiting) {
        waiting_remove(q, t);
        t->state->is_ended = true;
    }
    t->state->is_left = true;
    is_last = t->state->is_ended;
    pthread_mutex_unlock(&q->lock);
    if (is_last)
        ticket_free(t);
}

void queue_stop(struct queue *q, int grace_ms)
{
    pthread_mutex_lock(&q->lock);
    if (!q->is_stopping)
        q->stop_ms = monotonic_ms() + grace_ms;
    if (!q->reason[0])
        snprintf(q->reason, sizeof(q->reason), "the server is stopping");
    q->is_stopping = true;
    pthread_cond_signal(&q->came);
    pthread_mutex_unlock(&q->lock);
}

uint32_t queue_size(struct queue *q)
{
    uint32_t all;

    pthread_mutex_lock(&q->lock);
    all = q->waiting_count + q->running_count;
    pthread_mutex_unlock(&q->lock);
    return all > q->slots ? all - q->slots : 0;
}

uint32_t queue_most(const struct queue *q)
{
    return q->most;
}

uint32_t queue_running(struct queue *q)
{
    uint32_t all;

    pthread_mutex_lock(&q->lock);
    all = q->waiting_count + q->running_count;
    pthread_mutex_unlock(&q->lock);
    return all < q->slots ? all : q->slots;
}

bool queue_is_closed(struct queue *q)
{
    bool is_closed;

    pthread_mutex_lock(&q->lock);
    is_closed = q->is_closed;
    pthread_mutex_unlock(&q->lock);
    return is_closed;
}

void queue_reason(struct queue *q, char reason[QUEUE_REASON_ROOM])
{
    pthread_mutex_lock(&q->lock);
    memcpy(reason, q->reason, QUEUE_REASON_ROOM);
    pthread_mutex_unlock(&q->lock);
}

struct ticket *queue_take(struct queue *q, int wait_ms)
{
    const int64_t second = 1000000000, end = monotonic_ns() + wait_ms * INT64_C(1000000);
    const struct timespec until = {.tv_sec = end / second, .tv_nsec = end % second};
    struct ticket *t;

    pthread_mutex_lock(&q->lock);
    while (wait_ms > 0 && !q->waiting && !q->is_stopping &&
           pthread_cond_timedwait(&q->came, &q->lock, &until) == 0)
        ;
    t = q->waiting;
    if (t) {
        waiting_remove(q, t);
        q->running_count++;
        t->state->news.taken_ns = monotonic_ns();
    }
    pthread_mutex_unlock(&q->lock);
    return t;
}

bool ticket_is_left(struct queue *q, const struct ticket *t)
{
    bool is_left;

    pthread_mutex_lock(&q->lock);
    is_left = t->state->is_left;
    pthread_mutex_unlock(&q->lock);
    return is_left;
}

void queue_begin(struct queue *q, struct ticket *t, uint32_t reused)
{
    pthread_mutex_lock(&q->lock);
    t->state->news.reused = reused;
    pthread_mutex_unlock(&q->lock);
}

/* Under the lock. */
static bool text_append(struct ticket_state *s, const char *text, size_t length)
{
    size_t room = s->room ? s->room : 64;
    char *larger;

    while (room < s->news.length + length)
        room *= 2;
    if (room > s->room) {
        larger = realloc(s->news.text, room);
        if (!larger)
            return false;
        s->news.text = larger;
        s->room = room;
    }
    memcpy(s->news.text + s->news.length, text, length);
    s->news.length += length;
    return true;
}

void queue_count(struct queue *q, struct ticket *t)
{
    struct ticket_news *news = &t->state->news;

    pthread_mutex_lock(&q->lock);
    news->tokens++;
    news->last_ns = monotonic_ns();
    if (!news->first_ns)
        news->first_ns = news->last_ns;
    pthread_mutex_unlock(&q->lock);
}

/* Under the lock. */
static bool report_append(struct ticket_state *s, const struct token_report *report)
{
    uint32_t room = s->report_room ? 2 * s->report_room : 8;
    struct token_report *larger;

    if (s->news.report_count == s->report_room) {
        larger = reallocarray(s->news.reports, room, sizeof(*larger));
        if (!larger)
            return false;
        s->news.reports = larger;
        s->report_room = room;
    }
    s->news.reports[s->news.report_count++] = *report;
    return true;
}

bool queue_report(struct queue *q, struct ticket *t, const struct token_report *report)
{
    bool is_kept;

    pthread_mutex_lock(&q->lock);
    is_kept = report_append(t->state, report);
    pthread_mutex_unlock(&q->lock);
    return is_kept;
}

bool queue_add(struct queue *q, struct ticket *t, const char *text, size_t length)
{
    bool is_kept = true;

    if (!length)
        return true;
    pthread_mutex_lock(&q->lock);
    is_kept = text_append(t->state, text, length);
    changed_add(q, t);
    pthread_mutex_unlock(&q->lock);
    return is_kept;
}

/* Under the lock: true if the caller must free t behind it. */
static bool ticket_finish(struct queue *q, struct ticket *t, enum ticket_end end)
{
    t->state->news.end = end;
    t->state->is_ended = true;
    changed_add(q, t);
    return t->state->is_left;
}

void queue_end(struct queue *q, struct ticket *t, enum ticket_end end)
{
    bool is_last;

    pthread_mutex_lock(&q->lock);
    q->running_count--;
    is_last = ticket_finish(q, t, end);
    pthread_mutex_unlock(&q->lock);
    if (is_last)
        ticket_free(t);
}

bool queue_is_stopping(struct queue *q)
{
    bool is_stopping;

    pthread_mutex_lock(&q->lock);
    is_stopping = q->is_stopping &&
                  (q->waiting_count + q->running_count == 0 || monotonic_ms() >= q->stop_ms);
    pthread_mutex_unlock(&q->lock);
    return is_stopping;
}

void queue_refuse(struct queue *q, const char *reason)
{
    pthread_mutex_lock(&q->lock);
    snprintf(q->reason, sizeof(q->reason), "%s", reason);
    pthread_mutex_unlock(&q->lock);
}

void queue_lose(struct queue *q, const char *loss)
{
    pthread_mutex_lock(&q->lock);
    snprintf(q->loss, sizeof(q->loss), "%s", loss);
    pthread_mutex_unlock(&q->lock);
}

void queue_loss(struct queue *q, char loss[QUEUE_REASON_ROOM])
{
    pthread_mutex_lock(&q->lock);
    memcpy(loss, q->loss, QUEUE_REASON_ROOM);
    pthread_mutex_unlock(&q->lock);
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_closed = true;
    while (q->waiting) {
        struct ticket *t = q->waiting;

        waiting_remove(q, t);
        ticket_finish(q, t, TICKET_FAILED); /* one that waits is left by nobody */
    }
    eventfd_write(q->fd, 1);
    pthread_mutex_unlock(&q->lock);
}
