/* SPDX-License-Identifier: MIT */
#include "coordinator/sentence.h"

#include "coordinator/server_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MISSING_NAMED = 5,
    WAITING_NAMED = 16
}; /* ranks that a sentence names before "and … more" */

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

/* Appends what separates item i of n from the one before it: a comma, "and", or, after `named`
 * items, how many more there are. True: the list is complete. */
static bool separator_add(char *out, size_t size, int i, int n, int named, bool with_and)
{
    if (i == named && n > named) {
        sentence_add(out, size, " and %d more", n - i);
        return true;
    }
    if (i > 0)
        sentence_add(out, size, with_and && i == n - 1 ? " and " : ", ");
    return false;
}

void sentence_add_hosts(const struct server *s, char *out, size_t size, const int *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        if (separator_add(out, size, i, count, MISSING_NAMED, true))
            return;
        sentence_add_rank(s, out, size, ranks[i]);
    }
}

void sentence_add_ranks(char *out, size_t size, const int *ranks, int count)
{
    sentence_add(out, size, count == 1 ? "rank " : "ranks ");
    for (int i = 0; i < count; i++) {
        if (separator_add(out, size, i, count, WAITING_NAMED, false))
            return;
        sentence_add(out, size, "%d", ranks[i]);
    }
}
