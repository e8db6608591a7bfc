/* SPDX-License-Identifier: MIT */
#include "launcher/run/stacks/hang_report.h"

#include "common/call_kinds.h"
#include "common/net/wait_graph.h"
#include "common/text/object_field.h"
#include "common/text/rank_list.h"
#include "common/text/text_json.h"
#include "common/text/text_stream.h"
#include "launcher/run/stacks/foreign_report.h"
#include "launcher/run/stacks/report_line.h"
#include "launcher/run/stacks/stack_view.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY = 1024,
    LINES_MOST = 40,    /* groups in the text */
    FRAMES_SHOWN = 12,  /* a stack's, in the text */
    DEADLOCK_NAMED = 8, /* ranks of a circle, in the text */
    PEERS_MOST = 1024,  /* that a rank is believed to wait for; it names at most 16 */
};

/* The report while it is made: groups by a text that says what makes their ranks alike. */
struct maker {
    const struct hang_rank *ranks;
    size_t count;
    json_t *groups, *by_key;
    struct wait *waits; /* by rank; `call` of a collective call's is its group in the report */
    size_t wait_count;
};

/* The group of that key with the rank added to it. *is_new: it has just been made. */
static json_t *group_join(struct maker *m, const char *key, long long rank, bool *is_new)
{
    json_t *group = json_object_get(m->by_key, key), *ranks, *last;

    *is_new = !group;
    if (!group) {
        group = json_pack("{s:[]}", "ranks");
        json_object_set(m->by_key, key, group);
        json_array_append_new(m->groups, group);
    }
    ranks = json_object_get(group, "ranks");
    last = json_array_get(ranks, json_array_size(ranks) - 1);
    if (!last || json_integer_value(last) != rank)
        json_array_append_new(ranks, json_integer(rank));
    return group;
}

/* --- ranks in calls --------------------------------------------------------------------------- */

/* Whole numbers of a list that can be ranks, at most PEERS_MOST. Returns how many. */
static size_t peers_read(int *out, const json_t *list)
{
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(list) && count < PEERS_MOST; i++) {
        json_int_t rank = json_integer_value(json_array_get(list, i));

        if (json_is_integer(json_array_get(list, i)) && rank >= 0 && rank <= INT_MAX)
            out[count++] = (int)rank;
    }
    return count;
}

/* Ranks in one collective call of one group are together; of messages, those that wait for the
 * same. */
static void wait_key(char key[KEY], const json_t *wait)
{
    const char *name = object_field_text(wait, "name");

    if (object_field_whole(wait, "call") > 0)
        snprintf(key, KEY, "call %lld %lld %.200s", object_field_whole(wait, "group"),
                 object_field_whole(wait, "call"), *name ? name : object_field_text(wait, "text"));
    else
        snprintf(key, KEY, "message %.900s", object_field_text(wait, "text"));
}

static void stack_set(json_t *group, const struct hang_rank *r)
{
    const json_t *process = stack_view_choose(json_object_get(r->said, "stacks"));
    struct stack_view v;

    stack_view_make(&v, process);
    if (process && !json_object_get(group, "stack")) {
        json_object_set_new(group, "host", text_json(r->host));
        json_object_set_new(group, "pid", json_integer(object_field_whole(process, "pid")));
        json_object_set_new(group, "place", text_json(v.place));
        json_object_set(group, "stack", v.frames);
    }
    stack_view_clear(&v);
}

/* Remembers a wait of that group, whose id is the number of its first one, from 1. */
static void graph_add(struct maker *m, json_t *group, long long rank, const json_t *wait)
{
    const json_t *from = json_object_get(wait, "receives_from");
    const json_t *to = json_object_get(wait, "sends_to");
    int *peers = calloc(json_array_size(from) + json_array_size(to) + 1, sizeof(*peers));
    struct wait *w = &m->waits[m->wait_count++];

    if (!json_object_get(group, "id"))
        json_object_set_new(group, "id", json_integer((json_int_t)m->wait_count));
    *w = (struct wait){
        .rank = (int)rank, .group = (uint32_t)object_field_whole(wait, "group"), .peers = peers};
    if (object_field_whole(wait, "call") > 0)
        w->call = (uint32_t)object_field_whole(group, "id");
    if (peers) {
        w->senders = peers_read(peers, from);
        w->count = w->senders + peers_read(peers + w->senders, to);
    }
}

static void wait_add(struct maker *m, const struct hang_rank *r, const json_t *wait)
{
    static const char *const copied[] = {"text", "name",  "algorithm", "group",
                                         "call", "place", "window"};
    static const char *const as[] = {"text",   "call", "algorithm", "group",
                                     "number", "at",   "window"};
    char key[KEY];
    bool is_new;
    json_t *group;

    wait_key(key, wait);
    group = group_join(m, key, r->rank, &is_new);
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied) && is_new; i++)
        json_object_set(group, as[i], json_object_get(wait, copied[i]));
    if (!json_object_get(group, "members"))
        json_object_set(group, "members", json_object_get(wait, "members"));
    graph_add(m, group, r->rank, wait);
    stack_set(group, r);
}

static json_t *ranks_json(const int *ranks, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(ranks[i]));
    return list;
}

/* True if none of the ranks can go on before all have come to the call. */
static bool is_for_all(const char *name)
{
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        if (*name && strcmp(call_names[kind], name) == 0)
            return call_kind_has((enum call_kind)kind, CALL_FOR_ALL);
    }
    return false;
}

/* True if the rank is in another collective call of the group: perhaps a later one. */
static bool is_elsewhere(const struct maker *m, int rank, uint32_t group)
{
    for (size_t i = 0; i < m->wait_count; i++) {
        if (m->waits[i].rank == rank && m->waits[i].group == group && m->waits[i].call)
            return true;
    }
    return false;
}

/* The waits of call `id` that name nobody are for those who have not come, so that a circle is
 * found through them, too. */
static void absent_learn(const struct maker *m, size_t id, const struct wait_call *call)
{
    for (size_t i = 0; i < m->wait_count; i++) {
        struct wait *w = &m->waits[i];
        int *peers = NULL;

        if (w->call == id && w->count == 0)
            peers = realloc(w->peers, (call->absent_count + 1) * sizeof(*peers));
        if (!peers)
            continue;
        w->peers = peers;
        for (size_t k = 0; k < call->absent_count; k++)
            if (!is_elsewhere(m, call->absent[k], w->group))
                peers[w->count++] = call->absent[k];
        w->senders = w->count;
    }
}

/* Those who wait on shared memory wait for all alike, and name nobody. */
static void awaited_settle(const struct maker *m, json_t *group)
{
    size_t id = m->waits ? (size_t)object_field_whole(group, "id") : 0, count = 0;
    const json_t *list = json_object_get(group, "members");
    int *members = calloc(json_array_size(list) + m->count, sizeof(*members));
    struct wait_call call = {0};

    if (id && members && m->waits[id - 1].call) {
        count = peers_read(members, list);
        for (size_t i = 0; i < m->count && !list && object_field_whole(group, "group") == 0; i++)
            members[count++] = (int)m->ranks[i].rank;
    }
    if (id && members)
        wait_graph_call(&call, m->waits, m->wait_count, id - 1, members, count);
    if (id)
        json_object_set_new(group, "waits_for", ranks_json(call.absent, call.absent_count));
    if (id && m->waits[id - 1].call && is_for_all(object_field_text(group, "call")))
        absent_learn(m, id, &call);
    json_object_del(group, "members");
    json_object_del(group, "id");
    free(call.present);
    free(members);
}

/* --- ranks elsewhere -------------------------------------------------------------------------- */

/* Ranks with equal stacks are together, as far as the program's own part of it goes. */
static void place_add(struct maker *m, const struct hang_rank *r)
{
    const json_t *process = stack_view_choose(json_object_get(r->said, "stacks"));
    bool has_ended = strcmp(object_field_text(r->said, "state"), "ended") == 0, is_new;
    struct stack_view v;
    char *key;
    json_t *group;

    stack_view_make(&v, process);
    for (size_t i = 0; i < v.below_call; i++)
        json_array_remove(v.frames, 0);
    json_array_insert_new(v.frames, 0, json_string(has_ended ? "ended" : v.place));
    key = json_dumps(v.frames, JSON_COMPACT);
    group = key ? group_join(m, key, r->rank, &is_new) : NULL;
    if (group && is_new && has_ended)
        json_object_set_new(group, "ended", json_true());
    else if (group && is_new)
        stack_set(group, r);
    free(key);
    stack_view_clear(&v);
}

static void rank_add(struct maker *m, const struct hang_rank *r)
{
    json_t *waits = json_object_get(r->said, "waits"), *wait;
    size_t i;

    json_array_foreach(waits, i, wait)
    {
        wait_add(m, r, wait);
    }
    if (json_array_size(waits) == 0)
        place_add(m, r);
}

static int rank_compare(const void *a, const void *b)
{
    const struct hang_rank *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

void hang_report_sort(struct hang_rank *ranks, size_t count)
{
    if (count)
        qsort(ranks, count, sizeof(*ranks), rank_compare);
}

json_t *hang_report_make(const struct hang_rank *ranks, size_t count)
{
    struct maker m = {ranks, count, json_array(), json_object(), NULL, 0};
    size_t room = 1, i;
    json_t *group, *deadlock, *report;
    int *circle;

    for (i = 0; i < count; i++)
        room += json_array_size(json_object_get(ranks[i].said, "waits"));
    m.waits = calloc(room, sizeof(*m.waits));
    circle = calloc(room, sizeof(*circle));
    for (i = 0; i < count && m.waits; i++)
        rank_add(&m, &ranks[i]);
    json_array_foreach(m.groups, i, group)
    {
        awaited_settle(&m, group);
    }
    deadlock = ranks_json(circle, circle ? wait_graph_circle(m.waits, m.wait_count, circle) : 0);
    for (i = 0; i < m.wait_count && m.waits; i++)
        free(m.waits[i].peers);
    free(m.waits);
    free(circle);
    json_decref(m.by_key);
    report = json_pack("{s:o, s:o}", "groups", m.groups, "deadlock", deadlock);
    foreign_report_add(report, ranks, count);
    return report;
}

/* --- in words --------------------------------------------------------------------------------- */

/* Where in the program the call is: as the program has said, or else as its stack has. */
static const char *call_place(const json_t *group)
{
    const char *at = object_field_text(group, "at"), *place = object_field_text(group, "place");
    const char *slash = strrchr(at, '/');

    if (*at)
        return slash ? slash + 1 : at;
    return strncmp(place, "in ", 3) == 0 ? place + 3 : "";
}

/* " #1041 of group 3 (ring) at train.py:17", " of window 4 at prog.c:20 main" */
static void call_write(char *out, size_t size, const json_t *group)
{
    const char *algorithm = object_field_text(group, "algorithm"), *where = call_place(group);
    long long number = object_field_whole(group, "group");
    char which[48] = "", whose[48] = "";

    if (json_is_true(json_object_get(group, "window"))) {
        snprintf(whose, sizeof(whose), " of window %lld", number);
    } else {
        snprintf(which, sizeof(which), " #%lld", object_field_whole(group, "number"));
        if (number > 0)
            snprintf(whose, sizeof(whose), " of group %lld", number);
    }
    snprintf(out, size, "%s%s%s%.40s%s%s%.180s", which, whose, *algorithm ? " (" : "", algorithm,
             *algorithm ? ")" : "", *where ? " at " : "", where);
}

static void wait_write(const struct report_writer *w, const json_t *group, const char *ranks,
                       bool is_one)
{
    const json_t *awaited_ranks = json_object_get(group, "waits_for");
    char call[300], others[RANK_LIST_TEXT];

    if (object_field_whole(group, "number") <= 0) {
        bool has_place = *object_field_text(group, "at"); /* which is in the text, too */
        const char *where = has_place ? "" : call_place(group);

        report_line_write(w, "%s %s in %s%s%.180s", ranks, is_one ? "waits" : "wait",
                          object_field_text(group, "text"), *where ? ", called at " : "", where);
        return;
    }
    call_write(call, sizeof(call), group);
    report_line_ranks(others, awaited_ranks);
    report_line_write(w, "%s %s in %s%s for %s", ranks, is_one ? "waits" : "wait",
                      *object_field_text(group, "call") ? object_field_text(group, "call")
                                                        : object_field_text(group, "text"),
                      call, json_array_size(awaited_ranks) > 0 ? others : "each other");
}

static void group_write(const struct report_writer *w, const json_t *group)
{
    const json_t *list = json_object_get(group, "ranks");
    bool is_one = json_array_size(list) == 1;
    const char *place = object_field_text(group, "place");
    char ranks[RANK_LIST_TEXT];

    report_line_ranks(ranks, list);
    if (json_object_get(group, "waits_for"))
        wait_write(w, group, ranks, is_one);
    else if (json_is_true(json_object_get(group, "ended")))
        report_line_write(w, "%s %s ended", ranks, is_one ? "has" : "have");
    else if (*place)
        report_line_write(w, "%s %s %s", ranks, is_one ? "is" : "are", place);
    else
        report_line_write(w, "%s: no stack can be read", ranks);
}

static void stack_write(const struct report_writer *w, const json_t *group)
{
    const json_t *frames = json_object_get(group, "stack");
    size_t count = json_array_size(frames);

    report_line_write(
        w, "stack of rank %lld on host %s (pid %lld):",
        (long long)json_integer_value(json_array_get(json_object_get(group, "ranks"), 0)),
        object_field_text(group, "host"), object_field_whole(group, "pid"));
    for (size_t i = 0; i < count && i < FRAMES_SHOWN; i++)
        report_line_write(w, "    %s", json_string_value(json_array_get(frames, i)));
    if (count > FRAMES_SHOWN)
        report_line_write(w, "    … (%zu more)", count - FRAMES_SHOWN);
}

/* "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0" */
static void deadlock_write(const struct report_writer *w, const json_t *circle)
{
    size_t length = json_array_size(circle);

    if (length == 0)
        return;
    fprintf(w->to, "\n%sdeadlock: rank %lld", w->indent,
            (long long)json_integer_value(json_array_get(circle, 0)));
    for (size_t i = 1; i <= length && i <= DEADLOCK_NAMED; i++)
        fprintf(w->to, "%s waits for rank %lld", i > 1 ? ", which" : "",
                (long long)json_integer_value(json_array_get(circle, i % length)));
    fputs(length > DEADLOCK_NAMED ? ", and so on in a circle" : "", w->to);
}

/* A stack of one line says no more than the place. */
static bool has_more(const json_t *group)
{
    return !json_object_get(group, "waits_for") &&
           json_array_size(json_object_get(group, "stack")) > 1;
}

char *hang_report_text(const json_t *report, const char *indent, int stacks)
{
    json_t *groups = json_object_get(report, "groups"), *group;
    struct text_stream text;
    const struct report_writer w = {text_stream_open(&text), indent};
    size_t i;

    if (!w.to)
        return NULL;
    json_array_foreach(groups, i, group)
    {
        if (i < LINES_MOST)
            group_write(&w, group);
    }
    if (json_array_size(groups) > LINES_MOST)
        report_line_write(&w, "… (%zu more)", json_array_size(groups) - LINES_MOST);
    deadlock_write(&w, json_object_get(report, "deadlock"));
    foreign_report_write(&w, report);
    json_array_foreach(groups, i, group)
    {
        if (has_more(group) && stacks-- > 0)
            stack_write(&w, group);
    }
    return text_stream_close(w.to, &text);
}
