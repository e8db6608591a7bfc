/* SPDX-License-Identifier: MIT */
/* rank_list.h: how messages name several ranks. */
#ifndef COMMON_TEXT_RANK_LIST_H
#define COMMON_TEXT_RANK_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { RANK_LIST_TEXT = 256 };

/* Begins as {0}. */
struct rank_list {
    int count;
    int first, last; /* the range that the next rank may continue */
    size_t size;
    bool is_cut;
    char text[RANK_LIST_TEXT];
};

/* Adds a rank, which must be larger than those before. */
void rank_list_add(struct rank_list *l, int rank);

/* "rank 3", "ranks 0,2-7", or with very many pieces "ranks 0,2,4,..."; call it after the last
 * rank. At least one must have been added. Valid as long as `l`. */
const char *rank_list_end(struct rank_list *l);

#endif
