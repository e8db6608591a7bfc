/* SPDX-License-Identifier: MIT */
#include "common/text/rank_list.h"

#include <stdio.h>
#include <string.h>

/* Always left free: for ",...", "ranks " and a NUL. */
enum { RESERVE = 4 + 6 + 1 };

static void piece_add(struct rank_list *l, const char *piece)
{
    size_t size = strlen(piece);

    if (l->is_cut || l->size + size + RESERVE > sizeof(l->text)) {
        piece = l->is_cut ? "" : ",...";
        size = strlen(piece);
        l->is_cut = true;
    }
    memcpy(l->text + l->size, piece, size + 1);
    l->size += size;
}

/* Writes the range from l->first to l->last. */
static void range_end(struct rank_list *l)
{
    const char *comma = l->size ? "," : "";
    char piece[32];

    if (l->first == l->last)
        snprintf(piece, sizeof(piece), "%s%d", comma, l->first);
    else
        snprintf(piece, sizeof(piece), "%s%d%c%d", comma, l->first,
                 l->last == l->first + 1 ? ',' : '-', l->last);
    piece_add(l, piece);
}

void rank_list_add(struct rank_list *l, int rank)
{
    if (l->count && rank != l->last + 1) {
        range_end(l);
        l->first = rank;
    } else if (!l->count) {
        l->first = rank;
    }
    l->last = rank;
    l->count++;
}

const char *rank_list_end(struct rank_list *l)
{
    static const char one[] = "rank ", several[] = "ranks ";
    const char *word = l->count == 1 ? one : several;
    size_t size = strlen(word);

    range_end(l);
    memmove(l->text + size, l->text, l->size);
    memcpy(l->text, word, size);
    l->text[l->size + size] = '\0';
    return l->text;
}
