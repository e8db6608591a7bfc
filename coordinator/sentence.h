/* SPDX-License-Identifier: MIT */
/* sentence.h: builds sentences that name ranks and hosts, piece by piece. */
#ifndef COORDINATOR_SENTENCE_H
#define COORDINATOR_SENTENCE_H

#include <stddef.h>

struct server;

/* All functions append to the terminated text in `out`, which has room for `size` bytes; a longer
 * text is cut. */
void sentence_add(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "rank 2 on host b" */
void sentence_add_rank(const struct server *s, char *out, size_t size, int rank);
/* "rank 2 on host b, rank 3 on host c and 4 more" */
void sentence_add_hosts(const struct server *s, char *out, size_t size, const int *ranks,
                        int count);
/* "ranks 0-3,7", "rank 2" */
void sentence_add_ranks(char *out, size_t size, const int *ranks, size_t count);

#endif
