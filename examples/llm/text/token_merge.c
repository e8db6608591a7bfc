/* SPDX-License-Identifier: MIT */
#include "token_merge.h"

#include <stdlib.h>

enum { PARTS_MOST = INT32_MAX / 2 };

/* Two neighbours that may be joined; outdated once one of them has been joined otherwise. */
struct merge_pair {
    double order;
    int32_t left, right, token;
    uint32_t length; /* both together */
};

bool token_merge_add(struct token_merge *m, const char *text, size_t length, int32_t token)
{
    if (m->count == m->part_room) {
        size_t room = 2 * m->part_room + 64;
        struct merge_part *larger =
            room < PARTS_MOST ? realloc(m->parts, room * sizeof(*larger)) : NULL;

        if (!larger)
            return false;
        m->parts = larger;
        m->part_room = room;
    }
    if (m->count > 0)
        m->parts[m->count - 1].next = (int32_t)m->count;
    m->parts[m->count] =
        (struct merge_part){text, (uint32_t)length, token, (int32_t)m->count - 1, -1};
    m->count++;
    return true;
}

static bool is_before(const struct merge_pair *a, const struct merge_pair *b)
{
    return a->order < b->order || (a->order == b->order && a->left < b->left);
}

static bool heap_push(struct token_merge *m, const struct merge_pair *pair)
{
    size_t i = m->heap_count;

    if (i == m->heap_room) {
        size_t room = 2 * m->heap_room + 64;
        struct merge_pair *larger = realloc(m->heap, room * sizeof(*larger));

        if (!larger)
            return false;
        m->heap = larger;
        m->heap_room = room;
    }
    m->heap_count++;
    for (; i > 0 && is_before(pair, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = *pair;
    return true;
}

static struct merge_pair heap_pop(struct token_merge *m)
{
    struct merge_pair first = m->heap[0], last = m->heap[--m->heap_count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= m->heap_count)
            break;
        if (child + 1 < m->heap_count && is_before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!is_before(&m->heap[child], &last))
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return first;
}

static bool pair_add(struct token_merge *m, int32_t left, int32_t right, merge_rule *rule,
                     const void *of)
{
    struct merge_pair pair = {.left = left, .right = right};
    const struct merge_part *l, *r;

    if (left < 0 || right < 0)
        return true;
    l = &m->parts[left];
    r = &m->parts[right];
    if (!rule(of, l, r, &pair.order, &pair.token))
        return true;
    pair.length = l->length + r->length;
    return heap_push(m, &pair);
}

bool token_merge_run(struct token_merge *m, merge_rule *rule, const void *of)
{
    m->heap_count = 0;
    for (size_t i = 1; i < m->count; i++) {
        if (!pair_add(m, (int32_t)i - 1, (int32_t)i, rule, of))
            return false;
    }
    while (m->heap_count > 0) {
        struct merge_pair pair = heap_pop(m);
        struct merge_part *left = &m->parts[pair.left], *right = &m->parts[pair.right];

        if (left->length == 0 || right->length == 0 || left->length + right->length != pair.length)
            continue;
        left->length = pair.length;
        left->token = pair.token;
        left->next = right->next;
        right->length = 0;
        if (right->next >= 0)
            m->parts[right->next].prev = pair.left;
        if (!pair_add(m, left->prev, pair.left, rule, of) ||
            !pair_add(m, pair.left, left->next, rule, of))
            return false;
    }
    return true;
}

void token_merge_free(struct token_merge *m)
{
    free(m->parts);
    free(m->heap);
    *m = (struct token_merge){0};
}
