/* SPDX-License-Identifier: MIT */
#include "coordinator/limit.h"

#include "common/clock.h"

#include <sys/time.h>

int limit_open(struct limit *l, struct limits *all, event_callback_fn callback, void *arg)
{
    if (l->timer)
        return 0;
    l->timer = evtimer_new(all->base, callback, arg);
    if (!l->timer)
        return -1;
    l->all = all;
    l->next = all->first;
    all->first = l;
    return 0;
}

int limit_set(struct limit *l, int64_t ms)
{
    const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    l->left_ms = ms;
    l->is_held = l->all->is_paused;
    return l->is_held ? 0 : event_add(l->timer, &time);
}

int limit_start(struct limit *l, struct limits *all, int64_t ms, event_callback_fn callback,
                void *arg)
{
    return limit_open(l, all, callback, arg) ? -1 : limit_set(l, ms);
}

bool limit_is_set(const struct limit *l)
{
    return l->is_held || (l->timer && evtimer_pending(l->timer, NULL));
}

void limit_clear(struct limit *l)
{
    l->is_held = false;
    if (l->timer)
        event_del(l->timer);
}

void limit_free(struct limit *l)
{
    struct limit **at;

    if (!l->timer)
        return;
    for (at = &l->all->first; *at != l;)
        at = &(*at)->next;
    *at = l->next;
    event_free(l->timer);
    *l = (struct limit){0};
}

int64_t limits_now_ms(const struct limits *all)
{
    return (all->is_paused ? all->begin_ms : clock_ms()) - all->paused_ms;
}

void limits_pause(struct limits *all)
{
    struct timeval end, now;

    if (all->is_paused)
        return;
    all->is_paused = true;
    all->begin_ms = clock_ms();
    evutil_gettimeofday(&now, NULL);
    for (struct limit *l = all->first; l; l = l->next) {
        if (!event_pending(l->timer, EV_TIMEOUT, &end))
            continue;
        event_del(l->timer);
        l->is_held = true;
        l->left_ms = (end.tv_sec - now.tv_sec) * INT64_C(1000) + (end.tv_usec - now.tv_usec) / 1000;
        if (l->left_ms < 0)
            l->left_ms = 0;
    }
}

void limits_resume(struct limits *all)
{
    if (!all->is_paused)
        return;
    all->is_paused = false;
    all->paused_ms += clock_ms() - all->begin_ms;
    for (struct limit *l = all->first; l; l = l->next)
        if (l->is_held)
            limit_set(l, l->left_ms);
}
