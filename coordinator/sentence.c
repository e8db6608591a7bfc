/* SPDX-License-Identifier: MIT */
#include "coordinator/sentence.h"

#include "common/text/rank_list.h"
#include "coordinator/server_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MISSING_NAMED = 5 }; /* ranks that a sentence names before "and … more" */

void sentence_add(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

void sentence_add_rank(const struct server *s, char *out, size_t size, int rank)
{
    sentence_add(out, size, "rank %d on host %s", rank, s->host_names[s->host_of[rank]]);
}

void sentence_add_hosts(const struct server *s, char *out, size_t size, const int *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        if (i == MISSING_NAMED) {
            sentence_add(out, size, " and %d more", count - i);
            return;
        }
        if (i > 0)
            sentence_add(out, size, i == count - 1 ? " and " : ", ");
        sentence_add_rank(s, out, size, ranks[i]);
    }
}

void sentence_add_ranks(char *out, size_t size, const int *ranks, size_t count)
{
    struct rank_list list = {0};

    for (size_t i = 0; i < count; i++)
        rank_list_add(&list, ranks[i]);
    sentence_add(out, size, "%s", rank_list_end(&list));
}
