/* SPDX-License-Identifier: MIT */
/* server_split.c: ml_split: the members with the same color become a group. */
#include "coordinator/server_state.h"

#include "coordinator/protocol.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct server_split_choice {
    int color, key, place; /* place: rank in the old group */
    int rank;
};

static int choices_compare(const void *left, const void *right)
{
    const struct server_split_choice *a = left, *b = right;

    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

/* Makes a group of the `count` members at `c` and tells them; with a negative color tells them that
 * they get none. False: out of memory. */
static bool split_answer(struct server_group *p, const struct server_split_choice *c, int count)
{
    bool is_group = c->color >= 0;
    int *ranks = calloc((size_t)count, sizeof(*ranks));
    json_t *members = json_array(), *message;
    struct server_group *made = NULL;
    char *text;
    bool ok;

    for (int i = 0; ranks && i < count; i++) {
        ranks[i] = c[i].rank;
        if (is_group)
            json_array_append_new(members, json_integer(c[i].rank));
    }
    if (ranks && is_group)
        made = server_group_create(p->generation, ranks, count);
    free(ranks);
    ok = made || !is_group;
    message = json_pack("{s:I, s:I, s:I, s:o}", "parent", (json_int_t)p->id, "seq",
                        (json_int_t)p->split_seq, "group", made ? (json_int_t)made->id : -1,
                        "members", members);
    text = ok ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    for (int i = 0; i < count && text; i++)
        connection_cast_add(p->generation->members[c[i].rank].connection);
    for (int i = 0; i < count && text; i++)
        connection_cast_send(p->generation->members[c[i].rank].connection, COORD_SPLITTED, text,
                             strlen(text));
    ok = text;
    free(text);
    return ok;
}

static void split_complete(struct server_group *p)
{
    struct server_split_choice *choices = calloc((size_t)p->count, sizeof(*choices));
    bool ok = choices;
    int start, end;

    for (int i = 0; i < p->count && ok; i++) {
        const struct server_seat *seat = &p->seats[i];

        choices[i] = (struct server_split_choice){seat->color < 0 ? -1 : seat->color, seat->key, i,
                                                  seat->rank};
    }
    if (ok)
        qsort(choices, (size_t)p->count, sizeof(*choices), choices_compare);
    server_group_clear_split(p);
    for (start = 0; start < p->count && ok; start = end) {
        for (end = start + 1; end < p->count && choices[end].color == choices[start].color;)
            end++;
        ok = split_answer(p, &choices[start], end - start);
    }
    free(choices);
    if (!ok)
        server_group_break(p, ML_ERR_MEMORY, "the coordinator is out of memory");
}

static bool is_int(json_int_t value)
{
    return value >= INT_MIN && value <= INT_MAX;
}

int server_split_receive(struct server_group *p, struct server_seat *seat, json_t *message,
                         struct fault *why)
{
    json_int_t seq, color, key;

    if (json_unpack(message, "{s:I, s:I, s:I}", "seq", &seq, "color", &color, "key", &key) ||
        seq < 0 || seq > UINT32_MAX || !is_int(color) || !is_int(key))
        return fault_set(why, ML_ERR_REFUSED, "its SPLIT is malformed");
    if (seat->has_split)
        return fault_set(why, ML_ERR_REFUSED, "its SPLIT came twice");
    if (server_group_answers_broken(p, seat))
        return 0;
    if (p->split_count > 0 && seq != p->split_seq) {
        server_group_break(p, ML_ERR_MISMATCH,
                           "the ranks of the group are not in the same call of ml_split");
        return 0;
    }
    seat->has_split = true;
    seat->color = (int)color;
    seat->key = (int)key;
    p->split_seq = (uint32_t)seq;
    meeting_begin(p->generation->server, &p->meeting);
    if (++p->split_count == p->count)
        split_complete(p);
    return 0;
}
