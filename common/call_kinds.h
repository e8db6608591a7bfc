/* SPDX-License-Identifier: MIT */
/*
 * call_kinds.h: the kinds of call, a row each: what calls of the kind are named, and how they
 * differ. The library's checks, digests, counters and sentences follow from it, and so do the
 * agent's and the command's. A row's number is in messages, records and counters, so a new one is
 * the last.
 */
#ifndef COMMON_CALL_KINDS_H
#define COMMON_CALL_KINDS_H

#include <stdbool.h>
#include <stdint.h>

enum call_trait {
    CALL_MOVES = 1,         /* ranks read `count` elements or bytes at `in`, and write the same
                             * number */
    CALL_READS_ALL = 2,     /* reads that for each rank of the group */
    CALL_WRITES_ALL = 4,    /* writes that for each rank */
    CALL_REDUCES = 8,       /* type and operation are part of the call */
    CALL_ORDERS = 16,       /* the first rank writes nothing, and the last reads nothing */
    CALL_FROM_ROOT = 32,    /* only the root reads */
    CALL_TO_ROOT = 64,      /* only the root writes */
    CALL_IN_PLACE = 128,    /* what is read is also at `out` */
    CALL_IN_OUT = 256,      /* `in` may be this rank's share in `out` */
    CALL_VARIES = 512,      /* each share has a size of its own (struct task_shares) */
    CALL_HAS_CHOICE = 1024, /* algorithm_table.c has several algorithms for it */
    CALL_FOR_ALL = 2048,    /* no rank can be done with it before all have come to it */
    CALL_HAS_ROOT = CALL_FROM_ROOT | CALL_TO_ROOT,
};

/* clang-format off */
#define CALL_ROWS(row)                                                                             \
    row(NONE, "", 0)                                                                               \
    row(BARRIER, "barrier", CALL_HAS_CHOICE | CALL_FOR_ALL)                                        \
    row(ALL_REDUCE, "all_reduce", CALL_MOVES | CALL_REDUCES | CALL_HAS_CHOICE | CALL_FOR_ALL)      \
    row(REDUCE_SCATTER, "reduce_scatter",                                                          \
        CALL_MOVES | CALL_READS_ALL | CALL_REDUCES | CALL_HAS_CHOICE | CALL_FOR_ALL)               \
    row(REDUCE, "reduce", CALL_MOVES | CALL_REDUCES | CALL_TO_ROOT | CALL_HAS_CHOICE)              \
    row(ALL_GATHER, "all_gather",                                                                  \
        CALL_MOVES | CALL_WRITES_ALL | CALL_IN_OUT | CALL_HAS_CHOICE | CALL_FOR_ALL)               \
    row(ALL_TO_ALL, "all_to_all", CALL_MOVES | CALL_READS_ALL | CALL_WRITES_ALL | CALL_FOR_ALL)    \
    row(BROADCAST, "broadcast", CALL_MOVES | CALL_FROM_ROOT | CALL_IN_PLACE | CALL_HAS_CHOICE)     \
    row(GATHER, "gather", CALL_MOVES | CALL_WRITES_ALL | CALL_TO_ROOT | CALL_IN_OUT)               \
    row(SCATTER, "scatter", CALL_MOVES | CALL_READS_ALL | CALL_FROM_ROOT)                          \
    row(SEND, "message", CALL_MOVES) /* recv, sendrecv too */                                      \
    row(SPLIT, "split", 0)                                                                         \
    row(ALL_GATHER_V, "all_gather_v",                                                              \
        CALL_MOVES | CALL_WRITES_ALL | CALL_IN_OUT | CALL_VARIES | CALL_FOR_ALL)                   \
    row(ALL_TO_ALL_V, "all_to_all_v",                                                              \
        CALL_MOVES | CALL_READS_ALL | CALL_WRITES_ALL | CALL_VARIES | CALL_FOR_ALL)                \
    row(SCAN, "scan", CALL_MOVES | CALL_REDUCES)                                                   \
    row(EXCLUSIVE_SCAN, "exclusive_scan", CALL_MOVES | CALL_REDUCES | CALL_ORDERS)                 \
    row(WINDOW, "window_create", 0)
/* clang-format on */

#define CALL_NUMBER(kind, name, traits) CALL_##kind,
enum call_kind { CALL_ROWS(CALL_NUMBER) CALL_KINDS };

#define CALL_NAME(kind, name, traits) name,
static const char call_names[CALL_KINDS][16] = {CALL_ROWS(CALL_NAME)};

#define CALL_TRAITS(kind, name, traits) traits,
static const uint16_t call_traits[CALL_KINDS] = {CALL_ROWS(CALL_TRAITS)};

/* True if calls of the kind have one of `traits`. */
#define CALL_BIT(kind, name, traits) | ((traits)&wanted ? 1U << CALL_##kind : 0)
static inline bool call_kind_has(enum call_kind kind, unsigned wanted)
{
    return (0 CALL_ROWS(CALL_BIT)) >> kind & 1;
}

/* What another process has named: any number. */
static inline enum call_kind call_kind_known(unsigned kind)
{
    return kind < CALL_KINDS ? (enum call_kind)kind : CALL_NONE;
}

#endif
