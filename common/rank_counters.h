/* SPDX-License-Identifier: MIT */
/*
 * rank_counters.h: what a rank has done since it joined the job: calls, bytes, waits. The numbers
 * lie in a file in /dev/shm, which the agent reads while the rank runs (`mlaunch metrics`), so
 * counting is one addition and no system call (runtime/process/counters_file.h):
 *
 *     /dev/shm/mlaunch-UID-JOB.HOST.XXXXXX.counters.RANK
 *     ┌────────┬───────────────────────┬──────────────────────────────────────┐
 *     │ header │ calls of each kind    │ each host: its name, bytes by link   │
 *     └────────┴───────────────────────┴──────────────────────────────────────┘
 *
 * It stays when the rank leaves, for the summary, until the agent removes it at the job's end, as
 * all segments of that name. Any thread may count.
 */
#ifndef COMMON_RANK_COUNTERS_H
#define COMMON_RANK_COUNTERS_H

#include "common/call_kinds.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RANK_COUNTERS_MAGIC = 0x4d4c4334,
    RANK_COUNTERS_ALGORITHMS = 14, /* as many as enum algorithm (algorithm_table.h), and one */
    RANK_COUNTERS_WAITS = 8,       /* ten times as long each: up to 10 us, …, 10 s, longer */
    RANK_COUNTERS_FIRST = 10000,   /* ns: the first of these bounds */
    RANK_COUNTERS_LONG = 1000000, /* ns of waiting in a call, from which on another rank was late */
    RANK_COUNTERS_LINKS = 4,      /* self, shared memory, TCP, RDMA */
    RANK_COUNTERS_HOST = 96,      /* bytes of a host's name, terminated; cut off if it is longer */
    RANK_COUNTERS_HOSTS = 16384,  /* more are not counted one by one: the last has the rest */
    RANK_COUNTERS_PATH = 4096 + 64,
};

/* In the order of enum algorithm. The first is that of a call without an algorithm, of a kind that
 * has some: all ranks of the group are this one, for instance. */
#define RANK_COUNTERS_ALGORITHM_NAMES                                                              \
    {                                                                                              \
        "", "binomial", "bruck", "chain", "direct", "doubling", "dissemination", "flat",           \
            "hierarchical", "leaders", "ring", "scatter", "shared", "shared-flat"                  \
    }
/* In the order of counters_file_links(). */
#define RANK_COUNTERS_LINK_NAMES                                                                   \
    {                                                                                              \
        "self", "shm", "tcp", "rdma"                                                               \
    }

typedef _Atomic uint64_t rank_counter;

struct call_counters {
    rank_counter count, bytes;               /* calls begun, and what they were about */
    rank_counter waits[RANK_COUNTERS_WAITS]; /* stretches of waiting of more than some us */
    rank_counter wait_ns;                    /* their sum */
    rank_counter algorithms[RANK_COUNTERS_ALGORITHMS]; /* calls by algorithm, as it is chosen */
};
struct link_counters {
    rank_counter sent, received; /* bytes of messages that are done */
};
struct host_counters {
    char name[RANK_COUNTERS_HOST];
    struct link_counters links[RANK_COUNTERS_LINKS];
};
struct rank_counters {
    _Atomic uint32_t magic; /* stored last, with release: then the hosts' names are there */
    uint32_t hosts;
    rank_counter membership, members; /* with --elastic: of the rank's world, and how many it has */
    struct call_counters calls[CALL_KINDS];
    rank_counter kept_waiting; /* calls of all ranks, for all ranks, in which it waited for long */
    struct host_counters host[]; /* `hosts` of them, in the order of the job's */
};

static inline size_t rank_counters_size(uint32_t hosts)
{
    return sizeof(struct rank_counters) + hosts * sizeof(struct host_counters);
}

static inline void rank_counters_add(rank_counter *c, uint64_t amount)
{
    atomic_fetch_add_explicit(c, amount, memory_order_relaxed);
}

#endif
