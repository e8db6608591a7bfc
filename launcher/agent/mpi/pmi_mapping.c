/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/pmi_mapping.h"

#include <stdio.h>

struct block {
    int host, hosts, ranks; /* X, Y, Z */
};

/* The number of ranks from `rank` on that run on the same host. */
static int run_length(const int *host_of, int ranks, int rank)
{
    int n = 1;

    while (rank + n < ranks && host_of[rank + n] == host_of[rank])
        n++;
    return n;
}

/* The block that begins with `rank`: equal runs on hosts that follow each other. */
static struct block block_at(const int *host_of, int ranks, int rank)
{
    struct block b = {host_of[rank], 1, run_length(host_of, ranks, rank)};

    for (rank += b.ranks; rank < ranks; rank += b.ranks, b.hosts++) {
        if (host_of[rank] != b.host + b.hosts || run_length(host_of, ranks, rank) != b.ranks)
            break;
    }
    return b;
}

/* True if repeating the first block yields all ranks' hosts, as where ranks are dealt out. */
static bool first_is_repeated(const int *host_of, int ranks, const struct block *first)
{
    if (first->host != 0)
        return false;
    for (int i = 0; i < ranks; i++) {
        if (host_of[i] != i / first->ranks % first->hosts)
            return false;
    }
    return true;
}

bool pmi_mapping_format(char *out, size_t size, const int *host_of, int ranks)
{
    struct block b = block_at(host_of, ranks, 0);
    bool is_repeated = first_is_repeated(host_of, ranks, &b);
    size_t at = (size_t)snprintf(out, size, "(vector");

    for (int rank = 0; rank < ranks && at < size; rank += b.hosts * b.ranks) {
        b = block_at(host_of, ranks, rank);
        at += (size_t)snprintf(out + at, size - at, ",(%d,%d,%d)", b.host, b.hosts, b.ranks);
        if (is_repeated)
            break;
    }
    if (at < size)
        at += (size_t)snprintf(out + at, size - at, ")");
    return at < size;
}
