/* SPDX-License-Identifier: MIT */
/* sentence.h: sentences that name ranks and hosts, put together piece by piece. */
#ifndef COORDINATOR_SENTENCE_H
#define COORDINATOR_SENTENCE_H

#include <stddef.h>

struct server;

/* Append to the text in `out`, cut at `size`. */
void sentence_add(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sentence_add_rank(const struct server *s, char *out, size_t size, int rank); /* on host … */
/* "rank 2 on host b, rank 3 on host c and 4 more"; or "rank 2", "ranks 2, 3 and 4 more". */
void sentence_add_hosts(const struct server *s, char *out, size_t size, const int *ranks,
                        int count);
void sentence_add_ranks(char *out, size_t size, const int *ranks, int count);

#endif
