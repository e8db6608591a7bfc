/* SPDX-License-Identifier: MIT */
#include "rdma/rma/tracks.h"

#include "common/clock.h"
#include "rdma/verbs/region.h"

#include <string.h>

enum {
    BATCH = 16,
    COPIED_MOST = 4096, /* bytes: copying so few takes less time than waiting for the device */
    TRACKS_RETRY_MS = 10,
};

void tracks_init(struct tracks *l)
{
    l->queue_end = &l->queue;
}

void tracks_close(struct tracks *l)
{
    for (int i = 0; i < l->count; i++)
        track_close(l->all[i]);
    l->count = 0;
}

static int tracks_live(const struct tracks *l)
{
    int live = 0;

    for (int i = 0; i < l->count; i++)
        live += !l->all[i]->failed.code;
    return live;
}

/* --- posting ---------------------------------------------------------------------------------- */

/* The track for the next slice, or NULL. */
static struct track *tracks_route(const struct tracks *l, bool is_get)
{
    struct track *best = NULL;

    for (int i = 0; i < l->count; i++)
        if (track_has_room(l->all[i], is_get) && (!best || l->all[i]->bytes < best->bytes))
            best = l->all[i];
    return best;
}

/* True if all devices can reach the caller's memory. */
static bool is_registered(const struct tracks *l, const struct work *w)
{
    for (int i = 0; i < l->count; i++) {
        const struct gate *g = l->all[i]->gate;
        struct explain_place at = {.device = g->port->device, .port = g->port->number};
        struct fault why = {0};
        struct region_keys keys;

        if (!l->all[i]->failed.code &&
            !region_find(g->domain, w->local, w->size, false, &keys, &at, &why))
            return false;
    }
    return true;
}

/* The largest message that all ports take. */
static uint32_t tracks_message_most(const struct tracks *l)
{
    uint32_t most = TRACKS_SLICE_MOST;

    for (int i = 0; i < l->count; i++) {
        uint32_t port = l->all[i]->gate->port->attr.max_msg_sz;

        if (port && port < most)
            most = port;
    }
    return most;
}

void tracks_begin(struct tracks *l, struct work *w)
{
    uint32_t most = tracks_message_most(l);
    int live = tracks_live(l);
    size_t slice;

    w->posted = 0;
    w->under_way = 0;
    w->code = 0;
    w->is_queued = false;
    w->is_direct = w->size > COPIED_MOST && is_registered(l, w);
    /* Two slices a track, so that tracks of different speeds end at about the same time. */
    slice = w->size / (2 * (size_t)(live ? live : 1));
    slice = (slice + TRACKS_SLICE_LEAST - 1) / TRACKS_SLICE_LEAST * TRACKS_SLICE_LEAST;
    if (slice < TRACKS_SLICE_LEAST)
        slice = TRACKS_SLICE_LEAST;
    if (!w->is_direct)
        slice = COPIES_PLACE;
    w->slice = slice < most ? (uint32_t)slice : most;
}

/* Makes the next slice of w. False: no place for a copy is free. */
static bool slice_make(struct slice *s, struct work *w, struct copies *c)
{
    size_t rest = w->size - w->posted;

    *s = (struct slice){.work = w,
                        .local = w->local + w->posted,
                        .offset = w->offset + w->posted,
                        .size = rest < w->slice ? (uint32_t)rest : w->slice,
                        .is_get = w->is_get,
                        .copy = -1};
    if (w->is_direct)
        return true;
    s->copy = copies_take(c);
    if (s->copy < 0)
        return false;
    if (!w->is_get) {
        s->work = NULL;
        memcpy(copies_at(c, s->copy), s->local, s->size);
    }
    s->local = copies_at(c, s->copy);
    return true;
}

int tracks_post(struct tracks *l, struct work *w, struct copies *c)
{
    int posted = 0;

    while (w->posted < w->size && !l->failed.code) {
        struct track *to = tracks_route(l, w->is_get);
        struct slice s;

        if (!to || !slice_make(&s, w, c))
            break;
        w->under_way += s.work != NULL;
        w->posted += s.size;
        track_post(to, &s);
        posted++;
    }
    return posted;
}

bool tracks_are_done(const struct tracks *l, const struct work *w)
{
    return w->under_way == 0 && (w->posted == w->size || w->code || l->failed.code);
}

bool work_has_succeeded(const struct work *w)
{
    return !w->code && w->posted == w->size;
}

/* --- work that was started -------------------------------------------------------------------- */

/* Called whenever w may have become done. */
static void tracks_note_end(struct tracks *l, struct work *w)
{
    if (!w->on_done || w->is_queued || !tracks_are_done(l, w))
        return;
    w->next = l->ended;
    l->ended = w;
}

bool tracks_start(struct tracks *l, struct work *w, struct copies *c)
{
    tracks_begin(l, w);
    if (!l->queue)
        tracks_post(l, w, c);
    if (tracks_are_done(l, w))
        return true;
    w->is_queued = w->posted < w->size;
    if (w->is_queued) {
        w->next = NULL;
        *l->queue_end = w;
        l->queue_end = &w->next;
    }
    return false;
}

int tracks_post_queue(struct tracks *l, struct copies *c)
{
    int posted = 0;

    while (l->queue) {
        struct work *w = l->queue;

        posted += tracks_post(l, w, c);
        if (w->posted < w->size && !l->failed.code)
            break;
        l->queue = w->next;
        if (!l->queue)
            l->queue_end = &l->queue;
        w->is_queued = false;
        tracks_note_end(l, w);
    }
    return posted;
}

struct work *tracks_take_ended(struct tracks *l)
{
    struct work *w = l->ended;

    if (w)
        l->ended = w->next;
    return w;
}

/* --- completions and failures ----------------------------------------------------------------- */

static void slice_end(struct tracks *l, const struct slice *s, struct copies *c, int code)
{
    struct work *w = s->work;

    if (s->copy >= 0) {
        if (s->is_get && !code)
            memcpy(w->local + (s->offset - w->offset), s->local, s->size);
        copies_give(c, s->copy);
    }
    if (!w)
        return;
    w->under_way--;
    if (code)
        w->code = code;
    tracks_note_end(l, w);
}

/* What a failed track has not done: again over the others, or ended if there are none. */
static int track_empty(struct tracks *l, struct track *from, struct copies *c)
{
    struct slice s;
    int moved = 0;

    if (!from->failed.code || from->under_way)
        return 0;
    while (l->failed.code && track_take(from, true, &s)) {
        slice_end(l, &s, c, l->failed.code);
        moved++;
    }
    while (tracks_route(l, true) && track_take(from, false, &s)) {
        track_post(tracks_route(l, s.is_get), &s);
        moved++;
    }
    return moved;
}

static int track_collect(struct tracks *l, struct track *from, struct copies *c)
{
    struct slice done[BATCH];
    int count = 0, moved = 0;

    do {
        count = track_poll(from, done, BATCH);
        for (int i = 0; i < count; i++)
            slice_end(l, &done[i], c, 0);
        moved += count;
    } while (count == BATCH);
    return moved;
}

int tracks_poll(struct tracks *l, struct copies *c)
{
    int moved = 0;
    bool any_failed = false;

    for (int i = 0; i < l->count; i++) {
        struct track *one = l->all[i];

        if (one->under_way)
            moved += track_collect(l, one, c);
        if (one->gate->failed.code)
            track_fail(one, &one->gate->failed);
        if (one->failed.code) {
            any_failed = true;
            track_give_up(one);
        }
    }
    if (!any_failed)
        return moved;
    for (int i = 0; i < l->count && !l->failed.code && tracks_live(l) == 0; i++)
        l->failed = l->all[i]->failed;
    for (int i = 0; i < l->count; i++)
        moved += track_empty(l, l->all[i], c);
    return moved;
}

bool tracks_are_idle(const struct tracks *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->all[i]->used)
            return false;
    return !l->queue;
}

int64_t tracks_next_ms(const struct tracks *l)
{
    int64_t next = INT64_MAX;

    for (int i = 0; i < l->count; i++) {
        const struct track *one = l->all[i];
        int64_t at = one->under_way ? one->give_up_ms : one->quiet_ms;

        /* What is due and has not gone waits for room on another track. */
        if (one->failed.code && one->used && at < next)
            next = at > clock_ms() ? at : clock_ms() + TRACKS_RETRY_MS;
    }
    return next;
}

void tracks_fail(struct tracks *l, const struct fault *why)
{
    for (int i = 0; i < l->count; i++)
        track_fail(l->all[i], why);
    if (!l->failed.code)
        l->failed = *why;
}

const struct fault *tracks_dropped(struct tracks *l, int *left)
{
    for (int i = 0; i < l->count && !l->failed.code; i++) {
        if (!l->all[i]->failed.code || l->is_reported[i])
            continue;
        l->is_reported[i] = true;
        *left = tracks_live(l);
        return &l->all[i]->failed;
    }
    return NULL;
}
