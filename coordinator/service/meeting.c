/* SPDX-License-Identifier: MIT */
/*
 * meeting.c: ranks that wait for others before they have a group to make calls on: in ml_init and
 * ml_repair until all have called it, and while a group is made; also in ml_agree. The coordinator
 * knows who has come without being told that it waits. Who keeps others waiting for long is
 * reported by name, once.
 */
#include "coordinator/service/meeting.h"

#include "coordinator/creation.h"
#include "coordinator/generation.h"
#include "coordinator/sentence.h"
#include "coordinator/server_group.h"

#include <stdlib.h>

enum { TEXT = 1024 };

/* Those who have come and those who have not, as world ranks. */
struct attendance {
    int *present, *absent; /* owned, in one piece that begins with `present` */
    int present_count, absent_count;
};

static bool attendance_open(struct attendance *a, int room)
{
    *a = (struct attendance){.present = calloc(2 * (size_t)room, sizeof(int))};
    a->absent = a->present ? a->present + room : NULL;
    return a->present;
}

static void attendance_add(struct attendance *a, int rank, bool has_come)
{
    if (has_come)
        a->present[a->present_count++] = rank;
    else
        a->absent[a->absent_count++] = rank;
}

/* Begins with those who have not come: "rank 3 on host c has". */
static void absent_add(const struct attendance *a, const struct server *s, char *text)
{
    sentence_add_hosts(s, text, TEXT, a->absent, a->absent_count);
    sentence_add(text, TEXT, a->absent_count == 1 ? " has" : " have");
}

/* Ends with those who have: "ranks 0-2 have waited 30 s for it". Frees `a`. */
static void attendance_report(struct attendance *a, const struct server *s, char *text,
                              int64_t waited_ms)
{
    sentence_add_ranks(text, TEXT, a->present, (size_t)a->present_count);
    sentence_add(text, TEXT, " %s waited %ld s for ", a->present_count == 1 ? "has" : "have",
                 (long)(waited_ms / 1000));
    sentence_add(text, TEXT, a->absent_count == 1 ? "it" : "them");
    if (s->events.on_stall)
        s->events.on_stall(text, s->events.arg);
    free(a->present);
}

/* --- ml_init and ml_repair -------------------------------------------------------------------- */

static void generation_report(const struct generation *g, int64_t now)
{
    const struct server *s = g->server;
    struct attendance a;
    char text[TEXT] = "";

    if (!attendance_open(&a, s->size))
        return;
    for (int i = 0; i < s->size; i++) {
        const struct generation_rank *one = &g->ranks[i];

        if (!g->is_repairing)
            attendance_add(&a, i, one->state != RANK_ABSENT);
        else if (generation_awaits(one) || one->has_repaired)
            attendance_add(&a, i, one->has_repaired);
    }
    if (g->is_repairing && a.absent_count == 0) { /* all have come, and wait for newcomers */
        free(a.present);
        return;
    }
    absent_add(&a, s, text);
    if (g->is_repairing)
        sentence_add(text, TEXT, " not called ml_repair; ");
    else
        sentence_add(text, TEXT, " not called ml_init%s; ",
                     s->ranks[a.absent[0]].has_joined ? " again" : "");
    attendance_report(&a, s, text, now - g->meeting.since_ms);
}

/* --- a group that is made --------------------------------------------------------------------- */

static void group_report(const struct server_group *p, int64_t now)
{
    const struct server *s = p->generation->server;
    bool splits = p->split_count > 0, is_world = !splits && p->id == p->generation->world;
    char text[TEXT] = "", name[32];
    struct attendance a;

    if (!attendance_open(&a, p->count))
        return;
    for (int i = 0; i < p->count; i++) {
        const struct server_seat *seat = &p->seats[i];

        attendance_add(&a, seat->rank, splits ? seat->has_split : seat->blobs != NULL);
    }
    absent_add(&a, s, text);
    sentence_add(text, TEXT, " not met the others in %s (%s); ",
                 !is_world                   ? "ml_split, ml_group_create or ml_window_create"
                 : p->generation->membership ? "ml_repair"
                                             : "ml_init",
                 server_group_name(p, name));
    attendance_report(&a, s, text, now - p->meeting.since_ms);
}

/* Those that have died count as come. */
static void agreement_report(const struct server_group *p, int64_t now)
{
    const struct generation *g = p->generation;
    char text[TEXT] = "", name[32];
    struct attendance a;

    if (!attendance_open(&a, p->count))
        return;
    for (int i = 0; i < p->count; i++) {
        const struct server_seat *seat = &p->seats[i];

        if (seat->has_agreed || generation_is_alive(&g->ranks[seat->rank]))
            attendance_add(&a, seat->rank, seat->has_agreed);
    }
    absent_add(&a, g->server, text);
    sentence_add(text, TEXT, " not called ml_agree (%s); ", server_group_name(p, name));
    attendance_report(&a, g->server, text, now - p->agreeing.since_ms);
}

static void creation_report(const struct creation *c, int64_t now)
{
    const struct server *s = c->generation->server;
    struct attendance a;
    char text[TEXT] = "";

    if (!attendance_open(&a, c->count))
        return;
    for (int i = 0; i < c->count; i++)
        attendance_add(&a, c->ranks[i], c->has_come[i]);
    absent_add(&a, s, text);
    sentence_add(text, TEXT, " not called ml_group_create; ");
    attendance_report(&a, s, text, now - c->meeting.since_ms);
}

/* --- all -------------------------------------------------------------------------------------- */

void meeting_set_timer(struct server *s, int64_t due_ms)
{
    int64_t left_ms = due_ms - limits_now_ms(&s->limits);

    if (s->stalls.after_ms <= 0 || (s->stalls.due_ms != 0 && s->stalls.due_ms <= due_ms))
        return;
    s->stalls.due_ms = due_ms;
    limit_set(&s->stalls.limit, left_ms > 0 ? left_ms : 0);
}

void meeting_begin(struct server *s, struct server_meeting *m)
{
    if (m->since_ms)
        return;
    m->since_ms = limits_now_ms(&s->limits);
    meeting_set_timer(s, m->since_ms + s->stalls.after_ms);
}

/* True if it is time to report it, which it then counts as. Otherwise the timer is set. */
static bool meeting_is_due(struct server *s, struct server_meeting *m, int64_t now)
{
    if (!m->since_ms || m->is_reported)
        return false;
    if (m->since_ms + s->stalls.after_ms > now) {
        meeting_set_timer(s, m->since_ms + s->stalls.after_ms);
        return false;
    }
    m->is_reported = true;
    return true;
}

/* Do ranks come together, in ml_init or in ml_repair? */
static bool is_meeting(const struct generation *g)
{
    return g->is_repairing || (!g->is_complete && !g->failed.code);
}

void meeting_check(struct generation *g, int64_t now)
{
    if (is_meeting(g) && meeting_is_due(g->server, &g->meeting, now))
        generation_report(g, now);
    for (struct server_group *p = g->groups; p; p = p->next) {
        if (meeting_is_due(g->server, &p->meeting, now))
            group_report(p, now);
        if (meeting_is_due(g->server, &p->agreeing, now))
            agreement_report(p, now);
    }
    for (struct creation *c = g->creations; c; c = c->next)
        if (meeting_is_due(g->server, &c->meeting, now))
            creation_report(c, now);
}

void meeting_tell(struct generation *g, int64_t now)
{
    if (is_meeting(g) && g->meeting.since_ms)
        generation_report(g, now);
    for (struct server_group *p = g->groups; p; p = p->next) {
        if (p->meeting.since_ms)
            group_report(p, now);
        if (p->agreeing.since_ms)
            agreement_report(p, now);
    }
    for (const struct creation *c = g->creations; c; c = c->next)
        creation_report(c, now);
}
