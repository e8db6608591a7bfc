/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/divergence.h"

#include "common/text/rank_list.h"
#include "launcher/run/record/call_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A collective call of a rank. */
struct made_call {
    const struct rank_call *call;
    int rank;
};

/* One group's calls, from `first` to before `past`; those of one number are a round. */
struct span {
    const struct made_call *first, *past;
};

enum { GROUP_TEXT = 32 };

static const char *group_text(uint32_t group, char text[GROUP_TEXT])
{
    snprintf(text, GROUP_TEXT, group ? "group %" PRIu32 : "the world", group);
    return text;
}

static int made_compare(const void *a, const void *b)
{
    const struct made_call *x = a, *y = b;

    if (x->call->group != y->call->group)
        return x->call->group < y->call->group ? -1 : 1;
    if (x->call->seq != y->call->seq)
        return x->call->seq < y->call->seq ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static unsigned last_generation(const struct call_log *l)
{
    unsigned last = 0;

    for (int r = 0; r < l->size; r++)
        for (size_t i = 0; i < l->ranks[r].count; i++)
            if (l->ranks[r].calls[i].generation > last)
                last = l->ranks[r].calls[i].generation;
    return last;
}

/* The collective calls of the last generation, by group, number and rank. The caller frees
 * them. */
static struct made_call *calls_sort(const struct call_log *l, size_t *count)
{
    unsigned generation = last_generation(l);
    struct made_call *all;
    size_t room = 0;

    *count = 0;
    for (int r = 0; r < l->size; r++)
        room += l->ranks[r].count;
    all = calloc(room + 1, sizeof(*all));
    for (int r = 0; all && r < l->size; r++) {
        for (size_t i = 0; i < l->ranks[r].count; i++) {
            const struct rank_call *c = &l->ranks[r].calls[i];

            if (c->kind != RANK_CALL_MESSAGE && c->seq && c->generation == generation)
                all[(*count)++] = (struct made_call){c, r};
        }
    }
    if (all)
        qsort(all, *count, sizeof(*all), made_compare);
    return all;
}

static struct span group_take(const struct made_call *first, const struct made_call *end)
{
    struct span s = {first, first};

    while (s.past < end && s.past->call->group == first->call->group)
        s.past++;
    return s;
}

static struct span round_take(const struct made_call *first, struct span group)
{
    struct span s = {first, first};

    while (s.past < group.past && s.past->call->seq == first->call->seq)
        s.past++;
    return s;
}

/* --- calls that differ ------------------------------------------------------------------------ */

static int fitting_count(struct span round, const struct rank_call *c)
{
    int n = 0;

    for (const struct made_call *m = round.first; m < round.past; m++)
        n += call_words_fit(m->call, c);
    return n;
}

/* The call of most ranks, or of the first ones. */
static const struct rank_call *usual_call(struct span round)
{
    const struct rank_call *usual = round.first->call;
    int most = fitting_count(round, usual);

    for (const struct made_call *m = round.first; m < round.past; m++) {
        int n = call_words_fit(m->call, usual) ? 0 : fitting_count(round, m->call);

        if (n > most) {
            most = n;
            usual = m->call;
        }
    }
    return usual;
}

static const struct rank_call *odd_call(struct span round)
{
    for (const struct made_call *m = round.first; m < round.past; m++)
        if (!call_words_fit(m->call, round.first->call)) {
            const struct rank_call *usual = usual_call(round);

            return call_words_fit(round.first->call, usual) ? m->call : round.first->call;
        }
    return NULL;
}

static void difference_describe(struct divergence *out, struct span round,
                                const struct rank_call *odd)
{
    const struct rank_call *usual = usual_call(round);
    struct rank_list odd_ranks = {0}, usual_ranks = {0};
    char group[GROUP_TEXT], odd_words[CALL_WORDS], usual_words[CALL_WORDS];

    out->group = odd->group;
    out->call = odd->seq;
    out->ranks = json_array();
    for (const struct made_call *m = round.first; m < round.past; m++) {
        if (call_words_fit(m->call, odd)) {
            rank_list_add(&odd_ranks, m->rank);
            json_array_append_new(out->ranks, json_integer(m->rank));
        } else if (call_words_fit(m->call, usual)) {
            rank_list_add(&usual_ranks, m->rank);
        }
    }
    snprintf(out->text, sizeof(out->text),
             "the ranks' calls differ from call %" PRIu32 " of %s on: %s made %s, but %s %s",
             odd->seq, group_text(odd->group, group), rank_list_end(&odd_ranks),
             call_words_describe(odd, odd_words), rank_list_end(&usual_ranks),
             call_words_describe(usual, usual_words));
}

/* The first round of a group in which calls differ. */
static bool difference_find(struct divergence *out, struct span group)
{
    const struct made_call *at = group.first;

    while (at < group.past) {
        struct span round = round_take(at, group);
        const struct rank_call *odd = odd_call(round);

        if (odd) {
            difference_describe(out, round, odd);
            return true;
        }
        at = round.past;
    }
    return false;
}

/* --- ranks that are behind -------------------------------------------------------------------- */

static bool is_inside(const struct rank_call *c)
{
    return !c->end || c->failed;
}

/* Stores the last call of each rank in the group; NULL: none is known. */
static void last_calls(const struct rank_call **last, int size, struct span group)
{
    for (int r = 0; r < size; r++)
        last[r] = NULL;
    for (const struct made_call *m = group.first; m < group.past; m++)
        last[m->rank] = m->call;
}

/* How many calls of the group the rank has begun; -1: it is not known, or the rank is no member. */
static int64_t begun_count(const struct call_log *l, const struct rank_call *const *last, int rank,
                           uint32_t group)
{
    if (last[rank])
        return last[rank]->seq;
    return group == 0 && l->ranks[rank].has_come && !l->ranks[rank].is_cut ? 0 : -1;
}

static void lag_describe(struct divergence *out, const struct rank_call *ahead,
                         const struct rank_call *behind, int64_t begun, struct rank_list *late,
                         struct rank_list *waiting)
{
    char group[GROUP_TEXT], words[CALL_WORDS], own[CALL_WORDS], state[CALL_WORDS + 96];
    bool is_one = late->count == 1;

    if (begun == 0)
        snprintf(state, sizeof(state), "had made no call of %s", group_text(ahead->group, group));
    else if (behind && is_inside(behind))
        snprintf(state, sizeof(state), "%s in call %" PRId64 " of %s, %s", is_one ? "was" : "were",
                 begun, group_text(ahead->group, group), call_words_describe(behind, own));
    else
        snprintf(state, sizeof(state), "had ended %" PRId64 " call%s of %s", begun,
                 begun == 1 ? "" : "s", group_text(ahead->group, group));
    snprintf(out->text, sizeof(out->text), "%s %s, while %s %s in call %" PRIu32 ", %s",
             rank_list_end(late), state, rank_list_end(waiting),
             waiting->count == 1 ? "was" : "were", ahead->seq, call_words_describe(ahead, words));
}

/* Ranks of the group that wait in its last call for others that have not begun it. */
static bool lag_find(struct divergence *out, const struct call_log *l, struct span group,
                     const struct rank_call **last)
{
    const struct rank_call *ahead = group.past[-1].call, *behind = NULL;
    struct rank_list late = {0}, waiting = {0};
    int64_t least = ahead->seq;

    last_calls(last, l->size, group);
    for (int r = 0; r < l->size; r++) {
        int64_t begun = begun_count(l, last, r, ahead->group);

        if (begun >= 0 && begun < least)
            least = begun;
        if (last[r] && begun == ahead->seq && is_inside(last[r]))
            rank_list_add(&waiting, r);
    }
    if (least == ahead->seq || !waiting.count)
        return false;
    out->group = ahead->group;
    out->call = ahead->seq;
    out->ranks = json_array();
    for (int r = 0; r < l->size; r++) {
        if (begun_count(l, last, r, ahead->group) != least)
            continue;
        rank_list_add(&late, r);
        json_array_append_new(out->ranks, json_integer(r));
        if (!behind || (last[r] && !is_inside(last[r])))
            behind = last[r];
    }
    lag_describe(out, ahead, behind, least, &late, &waiting);
    return true;
}

bool divergence_find(struct divergence *out, const struct call_log *l)
{
    size_t count;
    struct made_call *all = calls_sort(l, &count);
    const struct rank_call **last = calloc((size_t)l->size, sizeof(struct rank_call *));
    const struct made_call *end = all + count;
    bool is_found = false;

    *out = (struct divergence){0};
    for (const struct made_call *at = all; all && at < end && !is_found;) {
        struct span group = group_take(at, end);

        is_found = difference_find(out, group);
        at = group.past;
    }
    for (const struct made_call *at = all; last && all && at < end && !is_found;) {
        struct span group = group_take(at, end);

        is_found = lag_find(out, l, group, last);
        at = group.past;
    }
    free(last);
    free(all);
    return is_found;
}

void divergence_clear(struct divergence *d)
{
    json_decref(d->ranks);
    d->ranks = NULL;
}
