/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/line_fold.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 1 << 16, /* most are never touched */
    CHAIN_MAX =
        64, /* equal hashes that are looked at; a text that comes so often is rarely apart */
    ENTRY_COST = 64 /* what an entry takes besides its bytes, as held bytes count it */
};

/* A line. Entries have numbers, from 1; 0 is none. */
struct fold_entry {
    char *bytes;
    size_t size;
    uint32_t hash;
    uint32_t range_count, range_room; /* room 0: the only one is `range` */
    struct line_range range, *ranges;
    int64_t due_ms;
    int owner;
    uint32_t cost;
    uint32_t stops; /* ranks that write on and have written nothing behind it */
    bool is_piece, has_ends;
    bool is_gone;  /* moved to the end */
    uint64_t next; /* in the same bucket */
};

struct rank_place {
    uint64_t last; /* entry */
    bool is_live, is_ending;
};

struct line_fold {
    struct line_fold_events events;
    int hold_ms, rank_count;
    struct rank_place *places; /* by rank */
    struct fold_entry *ring;
    uint64_t room, head, tail; /* entries head … tail - 1 are at their number modulo room */
    uint64_t hurried;          /* entries up to this one are due */
    uint64_t moved;       /* the last one that was moved to the end; all up to it are due … */
    int64_t moved_due_ms; /* … then */
    uint32_t live;        /* ranks that write on */
    uint32_t behind;      /* those that have written nothing behind the first entry */
    size_t held;
    struct {
        uint64_t first, last;
    } buckets[BUCKETS];
    char *out; /* what is about to be written, of one set and owner */
    size_t out_size;
    struct fold_entry out_head; /* its ranks, owner, cost, kind */
};

struct line_fold *line_fold_create(int ranks, int hold_ms, const struct line_fold_events *events)
{
    struct line_fold *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->events = *events;
    f->hold_ms = hold_ms;
    f->rank_count = ranks;
    f->room = 1024;
    f->head = f->tail = 1;
    f->places = calloc((size_t)ranks, sizeof(*f->places));
    f->ring = calloc(f->room, sizeof(*f->ring));
    f->out = malloc(LINE_FOLD_WRITE);
    if (f->places && f->ring && f->out)
        return f;
    line_fold_destroy(f);
    return NULL;
}

static struct fold_entry *entry_at(const struct line_fold *f, uint64_t number)
{
    return &f->ring[number & (f->room - 1)];
}

static void entry_clear(struct fold_entry *e)
{
    free(e->bytes);
    if (e->range_room)
        free(e->ranges);
    *e = (struct fold_entry){0};
}

void line_fold_destroy(struct line_fold *f)
{
    if (!f)
        return;
    for (uint64_t i = f->head; f->ring && i < f->tail; i++)
        entry_clear(entry_at(f, i));
    entry_clear(&f->out_head);
    free(f->places);
    free(f->ring);
    free(f->out);
    free(f);
}

size_t line_fold_held(const struct line_fold *f)
{
    return f->held;
}

bool line_fold_has(const struct line_fold *f, int rank)
{
    return f->places[rank].last >= f->head;
}

void line_fold_begin(struct line_fold *f, int rank)
{
    struct rank_place *p = &f->places[rank];

    if (p->is_live)
        return;
    p->is_live = true;
    f->live++;
    if (p->last < f->head)
        f->behind++;
    else
        entry_at(f, p->last)->stops++;
}

/* Takes it out of those that others' lines wait for. */
static void place_leave(struct line_fold *f, struct rank_place *p)
{
    if (p->is_live && p->last < f->head)
        f->behind--;
    else if (p->is_live)
        entry_at(f, p->last)->stops--;
}

static void place_move(struct line_fold *f, int rank, uint64_t number)
{
    struct rank_place *p = &f->places[rank];

    place_leave(f, p);
    p->last = number;
    entry_at(f, number)->stops += p->is_live;
}

static void places_move(struct line_fold *f, const struct line_ranks *ranks, uint64_t number)
{
    for (uint32_t i = 0; i < ranks->count; i++)
        for (uint32_t r = ranks->ranges[i].first; r <= ranks->ranges[i].last; r++)
            place_move(f, (int)r, number);
}

void line_fold_end(struct line_fold *f, int rank)
{
    struct rank_place *p = &f->places[rank];

    place_leave(f, p);
    f->live -= p->is_live;
    p->is_live = false;
    p->is_ending = p->last >= f->head;
    if (p->is_ending)
        entry_at(f, p->last)->has_ends = true;
    else
        f->events.end(rank, f->events.arg);
}

void line_fold_hurry(struct line_fold *f, int rank)
{
    uint64_t to = rank < 0 ? f->tail - 1 : f->places[rank].last;

    if (to > f->hurried)
        f->hurried = to;
}

/* Eight bytes at a time: lines are compared before they are taken for equal. */
static uint32_t text_hash(const char *bytes, size_t size)
{
    const uint64_t factor = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio */
    uint64_t h = size, word;

    for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        h = (h ^ word) * factor;
        h ^= h >> 29;
    }
    word = 0;
    memcpy(&word, bytes, size);
    h = (h ^ word) * factor;
    return (uint32_t)(h >> 32);
}

static bool is_same(const struct fold_entry *e, const char *line, size_t size)
{
    return !e->is_piece && e->size == size && memcmp(e->bytes, line, size) == 0;
}

/* The entry just behind `last`, where ranks that write alike find their next line; 0: there is
 * none, or it has another text. */
static uint64_t entry_find_next(const struct line_fold *f, uint64_t last, const char *line,
                                size_t size)
{
    uint64_t next = last < f->head ? f->head : last + 1;

    return next < f->tail && is_same(entry_at(f, next), line, size) ? next : 0;
}

/* The first entry with the text that is behind `last`; 0: none. */
static uint64_t entry_find(const struct line_fold *f, uint64_t last, uint32_t hash,
                           const char *line, size_t size)
{
    int steps = 0;

    for (uint64_t i = f->buckets[hash % BUCKETS].first; i && steps < CHAIN_MAX;
         i = entry_at(f, i)->next, steps++)
        if (i > last && entry_at(f, i)->hash == hash && is_same(entry_at(f, i), line, size))
            return i;
    return 0;
}

static struct line_ranks entry_ranks(const struct fold_entry *e)
{
    return (struct line_ranks){e->range_room ? e->ranges : &e->range, e->range_count};
}

/* Whether each rank of the set has its last line there, or, with `in` false, none has. */
static bool are_last(const struct line_fold *f, const struct line_ranks *ranks, uint64_t there,
                     bool in)
{
    for (uint32_t i = 0; i < ranks->count; i++)
        for (uint32_t r = ranks->ranges[i].first; r <= ranks->ranges[i].last; r++)
            if ((f->places[r].last == there) != in)
                return false;
    return true;
}

/* Adds ranks that are not in it to the entry's. False: out of memory; it is as it was. */
static bool ranks_merge(struct fold_entry *e, const struct line_ranks *more)
{
    struct line_range *a = e->range_room ? e->ranges : &e->range, *both;
    const struct line_range *b = more->ranges;
    uint32_t i = 0, j = 0, n = 0, last = e->range_count - 1;

    /* The usual cases: the first ones, those just behind the last one or before the first. */
    if (more->count == 1 && e->range_count == 0) {
        e->range = b[0];
        e->range_count = 1;
        return true;
    }
    if (more->count == 1 && b[0].first == a[last].last + 1) {
        a[last].last = b[0].last;
        return true;
    }
    if (more->count == 1 && b[0].last + 1 == a[0].first) {
        a[0].first = b[0].first;
        return true;
    }
    both = malloc((e->range_count + more->count) * sizeof(*both));
    if (!both)
        return false;
    while (i < e->range_count || j < more->count) {
        bool is_a = j == more->count || (i < e->range_count && a[i].first < b[j].first);
        const struct line_range *r = is_a ? &a[i++] : &b[j++];

        if (n && both[n - 1].last + 1 == r->first)
            both[n - 1].last = r->last;
        else
            both[n++] = *r;
    }
    if (e->range_room)
        free(e->ranges);
    e->ranges = both;
    e->range_room = 1;
    e->range_count = n;
    return true;
}

static bool ring_grow(struct line_fold *f)
{
    uint64_t room = 2 * f->room;
    struct fold_entry *bigger = calloc(room, sizeof(*bigger));

    if (!bigger)
        return false;
    for (uint64_t i = f->head; i < f->tail; i++)
        bigger[i & (room - 1)] = *entry_at(f, i);
    free(f->ring);
    f->ring = bigger;
    f->room = room;
    return true;
}

/* A new entry at the end, without ranks; NULL: out of memory. */
static struct fold_entry *entry_push(struct line_fold *f, const char *bytes, size_t size,
                                     uint32_t hash)
{
    char *copy = malloc(size);
    struct fold_entry *e;

    if (!copy || (f->tail - f->head == f->room && !ring_grow(f))) {
        free(copy);
        return NULL;
    }
    memcpy(copy, bytes, size);
    e = entry_at(f, f->tail++);
    *e = (struct fold_entry){.bytes = copy, .size = size, .hash = hash};
    f->held += size + ENTRY_COST;
    return e;
}

static void bucket_add(struct line_fold *f, uint64_t number)
{
    uint32_t at = entry_at(f, number)->hash % BUCKETS;

    if (f->buckets[at].first)
        entry_at(f, f->buckets[at].last)->next = number;
    else
        f->buckets[at].first = number;
    f->buckets[at].last = number;
}

/* An entry with the text may be before the ranks' last one, but the last one of all that have
 * written it: moving it to the end is in everybody's order. Returns its number there, or 0. */
static uint64_t entry_move(struct line_fold *f, const struct line_ranks *ranks, uint32_t hash,
                           const char *line, size_t size)
{
    uint64_t from = entry_find(f, 0, hash, line, size), to = f->tail;
    struct fold_entry *e = from ? entry_at(f, from) : NULL;
    struct line_ranks has;

    if (!e || !are_last(f, ranks, from, false))
        return 0;
    has = entry_ranks(e);
    if (!are_last(f, &has, from, true) || (f->tail - f->head == f->room && !ring_grow(f)))
        return 0;
    e = entry_at(f, from);
    f->tail++;
    *entry_at(f, to) = *e;
    entry_at(f, to)->stops = 0;
    entry_at(f, to)->next = 0;
    *e = (struct fold_entry){.hash = hash, .next = e->next, .stops = e->stops, .is_gone = true};
    bucket_add(f, to);
    f->held += ENTRY_COST;
    has = entry_ranks(entry_at(f, to));
    places_move(f, &has, to);
    if (f->moved < f->head || entry_at(f, to)->due_ms < f->moved_due_ms)
        f->moved_due_ms = entry_at(f, to)->due_ms;
    f->moved = to;
    return to;
}

/* Without memory a line is written at once, behind all that is held. */
static void write_now(struct line_fold *f, const struct line_ranks *ranks, bool is_piece,
                      const char *bytes, size_t size, int owner, uint32_t cost)
{
    line_fold_hurry(f, -1);
    line_fold_write(f, 0);
    f->events.write(ranks, is_piece, bytes, size, owner, cost, f->events.arg);
}

bool line_fold_add(struct line_fold *f, const struct line_ranks *ranks, const char *line,
                   size_t size, int owner, uint32_t cost, int64_t now_ms)
{
    uint32_t hash = 0;
    uint64_t last = 0, number;
    struct fold_entry *e;
    bool joins;

    for (uint32_t i = 0; i < ranks->count; i++)
        for (uint32_t r = ranks->ranges[i].first; r <= ranks->ranges[i].last; r++)
            if (f->places[r].last > last)
                last = f->places[r].last;
    number = entry_find_next(f, last, line, size);
    if (!number) {
        hash = text_hash(line, size);
        number = entry_find(f, last, hash, line, size);
        if (!number)
            number = entry_move(f, ranks, hash, line, size);
    }
    joins = number && ranks_merge(entry_at(f, number), ranks);
    if (!joins) {
        number = f->tail;
        e = entry_push(f, line, size, hash ? hash : text_hash(line, size));
        if (e && !ranks_merge(e, ranks)) {
            f->tail--;
            f->held -= size + ENTRY_COST;
            entry_clear(e);
            e = NULL;
        }
        if (!e) {
            write_now(f, ranks, false, line, size, owner, cost);
            return false;
        }
        e->due_ms = now_ms + f->hold_ms;
        e->owner = owner;
        e->cost = cost;
        bucket_add(f, number);
    }
    places_move(f, ranks, number);
    return joins;
}

void line_fold_piece(struct line_fold *f, int rank, const char *bytes, size_t size, int owner,
                     uint32_t cost, int64_t now_ms)
{
    const struct line_range one = {(uint32_t)rank, (uint32_t)rank};
    const struct line_ranks ranks = {&one, 1};
    uint64_t number = f->tail;
    struct fold_entry *e = entry_push(f, bytes, size, 0);

    if (!e) {
        write_now(f, &ranks, true, bytes, size, owner, cost);
        return;
    }
    e->is_piece = true;
    e->range = one;
    e->range_count = 1;
    e->due_ms = now_ms;
    e->owner = owner;
    e->cost = cost;
    place_move(f, rank, number);
}

static void out_flush(struct line_fold *f)
{
    struct fold_entry *h = &f->out_head;
    const struct line_ranks ranks = entry_ranks(h);

    if (f->out_size)
        f->events.write(&ranks, h->is_piece, f->out, f->out_size, h->owner, h->cost, f->events.arg);
    f->out_size = 0;
}

static bool is_alike(const struct fold_entry *a, const struct fold_entry *b)
{
    return a->is_piece == b->is_piece && a->owner == b->owner && a->range_count == b->range_count &&
           memcmp(a->range_room ? a->ranges : &a->range, b->range_room ? b->ranges : &b->range,
                  a->range_count * sizeof(a->range)) == 0;
}

/* Makes it the head of what follows in `out`, which has its ranges then. */
static void out_begin(struct line_fold *f, struct fold_entry *e)
{
    struct fold_entry *h = &f->out_head;

    if (h->range_room)
        free(h->ranges);
    *h = *e;
    h->bytes = NULL;
    e->range_room = 0;
}

/* Puts an entry into `out`, or writes it. */
static void out_add(struct line_fold *f, struct fold_entry *e)
{
    struct fold_entry *h = &f->out_head;

    if (f->out_size && (!is_alike(h, e) || f->out_size + e->size > LINE_FOLD_WRITE))
        out_flush(f);
    if (e->size > LINE_FOLD_WRITE) {
        const struct line_ranks ranks = entry_ranks(e);

        f->events.write(&ranks, e->is_piece, e->bytes, e->size, e->owner, e->cost, f->events.arg);
        return;
    }
    memcpy(f->out + f->out_size, e->bytes, e->size);
    if (f->out_size)
        h->cost += e->cost;
    else
        out_begin(f, e);
    f->out_size += e->size;
}

/* Those whose last entry it was. */
static void ends_tell(struct line_fold *f, uint64_t number)
{
    out_flush(f);
    for (int r = 0; r < f->rank_count; r++) {
        if (f->places[r].is_ending && f->places[r].last == number) {
            f->places[r].is_ending = false;
            f->events.end(r, f->events.arg);
        }
    }
}

static void head_pop(struct line_fold *f)
{
    struct fold_entry *e = entry_at(f, f->head);
    uint32_t at = e->hash % BUCKETS;
    bool has_ends = e->has_ends;

    if (!e->is_piece)
        f->buckets[at].first = e->next;
    f->behind += e->stops;
    f->held -= e->size + ENTRY_COST;
    if (!e->is_gone)
        out_add(f, e);
    entry_clear(e);
    f->head++;
    if (has_ends)
        ends_tell(f, f->head - 1);
}

/* Whether a rank may still join the first entry: by its next line, or because the entry can move
 * behind what the rank has written. */
static bool may_be_joined(const struct line_fold *f, const struct fold_entry *e)
{
    const struct line_ranks has = entry_ranks(e);

    return f->behind > 0 ||
           (!e->is_piece && f->live > e->stops && are_last(f, &has, f->head, true));
}

int line_fold_write(struct line_fold *f, int64_t now_ms)
{
    int next = -1;

    if (f->moved >= f->head && f->moved_due_ms <= now_ms && f->moved > f->hurried)
        f->hurried = f->moved;
    while (f->head < f->tail) {
        struct fold_entry *e = entry_at(f, f->head);
        bool is_due = e->is_gone || e->due_ms <= now_ms || f->head <= f->hurried ||
                      f->held > LINE_FOLD_HELD || !may_be_joined(f, e);

        if (!is_due) {
            next = (int)(e->due_ms - now_ms);
            if (f->moved >= f->head && f->moved_due_ms - now_ms < next)
                next = (int)(f->moved_due_ms - now_ms);
            break;
        }
        if (!f->events.may_write(f->out_size + e->size, f->events.arg))
            break;
        head_pop(f);
    }
    out_flush(f);
    return next;
}
