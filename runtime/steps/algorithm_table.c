/* SPDX-License-Identifier: MIT */
#include "runtime/steps/algorithm_table.h"

#include "common/rank_counters.h"
#include "common/text/number.h"
#include "runtime/group/world.h"
#include "runtime/steps/hierarchy.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY_SIZE SIZE_MAX
#define KIB      ((size_t)1024)
#define MIB      (1024 * KIB)

/* Tells the sums of those with and without MLAUNCH_DETERMINISTIC apart. */
#define DETERMINISTIC_KEY "MLAUNCH_DETERMINISTIC"

enum { ANY_RANKS = 1 << 30, OVERRIDES_MOST = 128, SHOWN = 64 /* characters of a wrong item */ };

/* What connects a group's ranks, as bits. A row names those it is for, and fits a group that has
 * one of them. */
enum medium {
    SHM = 1,   /* all members share memory */
    TCP = 2,   /* some members reach each other over TCP */
    RDMA = 4,  /* some over RDMA, and none over TCP */
    HOSTS = 8, /* several hosts, some of them with several ranks (hierarchy.h) */
    EVEN = 16, /* HOSTS, with equally many ranks on each, and few of both (ALGORITHM_FEW) */
    ANY = SHM | TCP | RDMA,
};

/* The first row that fits decides. Calls that have only one algorithm (all_to_all, gather, scatter)
 * are not in the table. */
static const struct {
    enum call_kind kind;
    unsigned media; /* any of these */
    size_t bytes;   /* at most */
    int ranks;      /* at most */
    enum algorithm algorithm;
} table[] = {
    /* --- all_reduce --- */
    /* One round, in which each rank reduces everything; or three rounds, in which each byte is
     * reduced once. With two ranks, the latter pays only once the vector fills several cells. */
    {CALL_ALL_REDUCE, SHM, 256 * KIB, 2, ALGORITHM_SHARED_FLAT},
    {CALL_ALL_REDUCE, SHM, 4 * KIB, ANY_RANKS, ALGORITHM_SHARED_FLAT},
    {CALL_ALL_REDUCE, SHM, ANY_SIZE, ANY_RANKS, ALGORITHM_SHARED},

    /* The fewest messages between hosts; or, for long vectors, half the bytes between hosts of two
     * and more ranks, and all ranks carry them. */
    {CALL_ALL_REDUCE, HOSTS, 64 * KIB, ANY_RANKS, ALGORITHM_LEADERS},
    {CALL_ALL_REDUCE, EVEN, ANY_SIZE, ANY_RANKS, ALGORITHM_HIERARCHICAL},

    /* Over TCP a message costs microseconds of processor time at both ends, but a single read moves
     * many bytes cheaply. So fewer messages win up to some 64 KiB, and up to some MiB chunks cost
     * more than they hide. Measured with 2, 4 and 8 ranks (doc/notes/algorithms.md). */
    {CALL_ALL_REDUCE, TCP, 64 * KIB, ANY_RANKS, ALGORITHM_DOUBLING},
    {CALL_ALL_REDUCE, TCP, 1 * MIB, 2, ALGORITHM_FLAT},
    {CALL_ALL_REDUCE, TCP, ANY_SIZE, 2, ALGORITHM_DIRECT},
    {CALL_ALL_REDUCE, TCP, 4 * MIB, ALGORITHM_FEW, ALGORITHM_FLAT},

    /* Two ranks send the same bytes with either, and doubling needs one round instead of two
     * (doc/notes/algorithms.md). */
    {CALL_ALL_REDUCE, RDMA, 32 * KIB, 2, ALGORITHM_DOUBLING},
    /* Thakur et al. 2005 (MPICH) switch at 2 KiB from fewer rounds to fewer bytes. With few ranks
     * and a full mesh, the flat and the direct exchange have the fewest bytes: flat in two rounds,
     * direct in chunks. */
    {CALL_ALL_REDUCE, RDMA, 4 * KIB, ANY_RANKS, ALGORITHM_DOUBLING},
    {CALL_ALL_REDUCE, RDMA, 256 * KIB, ALGORITHM_FEW, ALGORITHM_FLAT},
    {CALL_ALL_REDUCE, ANY, ANY_SIZE, ALGORITHM_FEW, ALGORITHM_DIRECT},
    /* With many ranks, 2 (n - 1) rounds between neighbours pay only once the blocks are long. */
    {CALL_ALL_REDUCE, ANY, 64 * KIB, ANY_RANKS, ALGORITHM_DOUBLING},
    {CALL_ALL_REDUCE, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_RING},

    /* --- reduce_scatter --- Flat sends all messages at once and needs room for n shares. */
    {CALL_REDUCE_SCATTER, TCP, 128 * KIB, ALGORITHM_FEW, ALGORITHM_FLAT},
    {CALL_REDUCE_SCATTER, ANY, 32 * KIB, ALGORITHM_FEW, ALGORITHM_FLAT},
    {CALL_REDUCE_SCATTER, ANY, ANY_SIZE, ALGORITHM_FEW, ALGORITHM_DIRECT},
    /* log2(n) rounds of all shares, or n - 1 rounds of one share. */
    {CALL_REDUCE_SCATTER, ANY, 4 * KIB, ANY_RANKS, ALGORITHM_DOUBLING},
    {CALL_REDUCE_SCATTER, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_RING},

    /* --- reduce --- */
    /* Rabenseifner 1997: a reduce-scatter and a gather, when bytes matter more than rounds. */
    {CALL_REDUCE, HOSTS, 1 * MIB, ANY_RANKS, ALGORITHM_LEADERS},
    {CALL_REDUCE, TCP, ANY_SIZE, 2, ALGORITHM_BINOMIAL},
    {CALL_REDUCE, TCP, 1 * MIB, ALGORITHM_FEW, ALGORITHM_BINOMIAL},
    {CALL_REDUCE, ANY, 64 * KIB, ANY_RANKS, ALGORITHM_BINOMIAL},
    {CALL_REDUCE, ANY, ANY_SIZE, ALGORITHM_FEW, ALGORITHM_DIRECT},
    {CALL_REDUCE, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_RING},

    /* --- one by one --- Behind rows that always fit: for MLAUNCH_DETERMINISTIC and
     * MLAUNCH_ALGO. */
    {CALL_ALL_REDUCE, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_CHAIN},
    {CALL_REDUCE_SCATTER, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_CHAIN},
    {CALL_REDUCE, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_CHAIN},

    /* --- all_gather --- Bruck et al. 1997: few rounds for short shares of many ranks. */
    {CALL_ALL_GATHER, HOSTS, 64 * KIB, ANY_RANKS, ALGORITHM_LEADERS},
    {CALL_ALL_GATHER, EVEN, ANY_SIZE, ANY_RANKS, ALGORITHM_HIERARCHICAL},
    {CALL_ALL_GATHER, TCP, 16 * KIB, ANY_RANKS, ALGORITHM_BRUCK},
    {CALL_ALL_GATHER, ANY, ANY_SIZE, 8, ALGORITHM_DIRECT},
    {CALL_ALL_GATHER, ANY, 1 * KIB, ANY_RANKS, ALGORITHM_BRUCK},
    {CALL_ALL_GATHER, ANY, ANY_SIZE, ALGORITHM_FEW, ALGORITHM_DIRECT},
    {CALL_ALL_GATHER, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_RING},

    /* --- broadcast --- */
    /* Van de Geijn's scatter and all-gather for long messages; MPICH switches at 12 KiB. With one
     * receiver there is nothing to share out. */
    {CALL_BROADCAST, HOSTS, ANY_SIZE, ANY_RANKS, ALGORITHM_LEADERS},
    {CALL_BROADCAST, ANY, ANY_SIZE, 2, ALGORITHM_BINOMIAL},
    {CALL_BROADCAST, TCP, 256 * KIB, ANY_RANKS, ALGORITHM_BINOMIAL},
    {CALL_BROADCAST, RDMA, 64 * KIB, ANY_RANKS, ALGORITHM_BINOMIAL},
    {CALL_BROADCAST, ANY, 32 * KIB, ANY_RANKS, ALGORITHM_BINOMIAL},
    {CALL_BROADCAST, ANY, ANY_SIZE, ALGORITHM_FEW, ALGORITHM_SCATTER},
    {CALL_BROADCAST, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_RING},

    /* --- barrier --- */
    {CALL_BARRIER, HOSTS, ANY_SIZE, ANY_RANKS, ALGORITHM_LEADERS},
    {CALL_BARRIER, ANY, ANY_SIZE, ANY_RANKS, ALGORITHM_DISSEMINATION},
};
enum { ROWS = sizeof(table) / sizeof(table[0]) };

/* Without the first, which means none. */
static const char *const all_names[RANK_COUNTERS_ALGORITHMS] = RANK_COUNTERS_ALGORITHM_NAMES;
static const char *const *const names = all_names + 1;
_Static_assert(ALGORITHMS + 1 == RANK_COUNTERS_ALGORITHMS, "each algorithm has a counter");

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* MLAUNCH_ALGO. The first item that fits decides; if none does, the table. And
 * MLAUNCH_DETERMINISTIC. */
static struct {
    struct override {
        enum call_kind kind;
        int algorithm;
        size_t from, to; /* bytes */
    } items[OVERRIDES_MOST];
    int count;
    bool is_deterministic;
    uint8_t sum[ALGORITHM_SUM];
    struct fault refusal; /* code != 0: it is not valid */
} overrides;

static bool name_is(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* The first row of the table with this algorithm for this call, or -1. */
static int table_row(enum call_kind kind, int algorithm)
{
    for (int row = 0; row < ROWS; row++)
        if (table[row].kind == kind && (int)table[row].algorithm == algorithm)
            return row;
    return -1;
}

static void algorithm_refuse(enum call_kind kind, const char *text, size_t length)
{
    char known[128] = "";
    size_t used = 0;

    for (int a = 0; a < ALGORITHMS && used < sizeof(known); a++)
        if (table_row(kind, a) >= 0)
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
                                     names[a]);
    fault_set(&overrides.refusal, ML_ERR_ARGUMENT,
              "MLAUNCH_ALGO: %s has no algorithm '%.*s'; it has: %s", call_names[kind],
              (int)(length < SHOWN ? length : SHOWN), text, known);
}

static bool size_parse(const char *text, size_t length, size_t *out)
{
    int64_t value;

    if (!number_parse_size(text, length, INT64_MAX, &value))
        return false;
    *out = (size_t)value;
    return true;
}

/* Parses "FROM..TO", of which one may be missing. */
static bool range_parse(struct override *out, const char *text, size_t length)
{
    const char *dots = memmem(text, length, "..", 2);
    size_t before = dots ? (size_t)(dots - text) : 0, after = dots ? length - before - 2 : 0;

    out->from = 0;
    out->to = SIZE_MAX;
    return dots && (before || after) && (!before || size_parse(text, before, &out->from)) &&
           (!after || size_parse(dots + 2, after, &out->to)) && out->from <= out->to;
}

/* Parses one "[CALL:]ALGORITHM[@RANGE]". *kind: the call of the item before,
 * or 0. */
static void item_parse(const char *text, size_t length, unsigned *kind)
{
    const char *at = memchr(text, '@', length), *colon = memchr(text, ':', length);
    const char *name = colon ? colon + 1 : text;
    struct override o = {.to = SIZE_MAX};
    size_t before = colon ? (size_t)(colon - text) : 0;
    size_t size = (size_t)((at ? at : text + length) - name);

    if (colon)
        for (*kind = 1; *kind < CALL_KINDS && !name_is(call_names[*kind], text, before);)
            ++*kind;
    if (!call_kind_has(*kind, CALL_HAS_CHOICE) || length == 0 || (at && at < name)) {
        fault_set(&overrides.refusal, ML_ERR_ARGUMENT,
                  "MLAUNCH_ALGO: '%.*s' is not CALL:ALGORITHM[@FROM..TO][,…] with a call of "
                  "all_reduce, reduce_scatter, reduce, all_gather, broadcast, barrier",
                  (int)(length < SHOWN ? length : SHOWN), text);
        return;
    }
    o.kind = (enum call_kind) * kind;
    while (o.algorithm < ALGORITHMS && !name_is(names[o.algorithm], name, size))
        o.algorithm++;
    if (o.algorithm == ALGORITHMS || table_row(o.kind, o.algorithm) < 0)
        algorithm_refuse(o.kind, name, size);
    else if (at && !range_parse(&o, at + 1, length - (size_t)(at + 1 - text)))
        fault_set(
            &overrides.refusal, ML_ERR_ARGUMENT,
            "MLAUNCH_ALGO: '%.*s' does not end in a range of sizes in bytes, such as @..4096, "
            "@8K..64K or @1M..",
            (int)(length < SHOWN ? length : SHOWN), text);
    else if (overrides.count == OVERRIDES_MOST)
        fault_set(&overrides.refusal, ML_ERR_ARGUMENT, "MLAUNCH_ALGO has more than %d items",
                  OVERRIDES_MOST);
    else
        overrides.items[overrides.count++] = o;
}

static void deterministic_read(void)
{
    const char *text = getenv("MLAUNCH_DETERMINISTIC");

    overrides.is_deterministic = text && strcmp(text, "1") == 0;
    if (text && *text && strcmp(text, "0") != 0 && !overrides.is_deterministic)
        fault_set(&overrides.refusal, ML_ERR_ARGUMENT,
                  "MLAUNCH_DETERMINISTIC: '%.*s' is not 0 or 1", SHOWN, text);
}

static void overrides_read(void)
{
    const char *text = getenv("MLAUNCH_ALGO");
    unsigned kind = 0;

    memset(&overrides, 0, sizeof(overrides));
    deterministic_read();
    if (!text)
        text = "";
    if (*text || overrides.is_deterministic)
        crypto_generichash(overrides.sum, sizeof(overrides.sum), (const unsigned char *)text,
                           strlen(text), (const unsigned char *)DETERMINISTIC_KEY,
                           overrides.is_deterministic ? strlen(DETERMINISTIC_KEY) : 0);
    if (!*text)
        return;
    for (; !overrides.refusal.code; text++) {
        size_t length = strcspn(text, ",");

        item_parse(text, length, &kind);
        text += length;
        if (!*text)
            return;
    }
}

static int overrides_check(struct fault *why)
{
    return overrides.refusal.code
               ? fault_set(why, overrides.refusal.code, "%s", overrides.refusal.text)
               : 0;
}

int algorithm_read(struct fault *why)
{
    pthread_once(&once, overrides_read);
    overrides_read();
    return overrides_check(why);
}

bool algorithm_is_deterministic(void)
{
    pthread_once(&once, overrides_read);
    return overrides.is_deterministic;
}

const uint8_t *algorithm_sum(void)
{
    return overrides.sum;
}

static unsigned group_media(const struct group *g)
{
    const struct hierarchy *h = g->hierarchy;
    unsigned media = g->shared.coll ? SHM : g->uses_tcp ? TCP : RDMA;

    bool is_even =
        h && h->is_even && h->across.size <= ALGORITHM_FEW && h->local.size <= ALGORITHM_FEW;

    return media | (h ? HOSTS : 0) | (is_even ? EVEN : 0);
}

/* True if a group with these media has what the algorithm needs. */
static bool algorithm_is_possible(int algorithm, unsigned media)
{
    if (algorithm == ALGORITHM_SHARED || algorithm == ALGORITHM_SHARED_FLAT)
        return media & SHM;
    if (algorithm == ALGORITHM_LEADERS)
        return media & HOSTS;
    return algorithm != ALGORITHM_HIERARCHICAL || media & EVEN;
}

static bool row_fits(int row, enum call_kind kind, size_t bytes, int ranks, unsigned media)
{
    return table[row].kind == kind && bytes <= table[row].bytes && ranks <= table[row].ranks &&
           table[row].media & media;
}

static bool override_fits(const struct override *o, enum call_kind kind, size_t bytes,
                          unsigned media)
{
    return o->kind == kind && o->from <= bytes && bytes <= o->to &&
           algorithm_is_possible(o->algorithm, media);
}

/* `a`, or else the algorithm in its place that combines operands one by one from rank 0 on. Two
 * operands meet in the order of ranks in all but the ring. */
static enum algorithm algorithm_one_by_one(enum algorithm a, enum call_kind kind, int ranks)
{
    bool is_so = a == ALGORITHM_CHAIN || a == ALGORITHM_FLAT || a == ALGORITHM_SHARED ||
                 a == ALGORITHM_SHARED_FLAT;

    if (is_so || (ranks == 2 && a != ALGORITHM_RING))
        return a;
    return kind == CALL_REDUCE || ranks > ALGORITHM_FEW ? ALGORITHM_CHAIN : ALGORITHM_FLAT;
}

/* `a`, or else the algorithm in its place that combines operands in the order of ranks. */
static enum algorithm algorithm_in_order(enum algorithm a, enum call_kind kind, size_t bytes,
                                         int ranks)
{
    if (a == ALGORITHM_CHAIN || a == ALGORITHM_FLAT || a == ALGORITHM_DOUBLING ||
        a == ALGORITHM_SHARED || a == ALGORITHM_SHARED_FLAT)
        return a;
    if (kind == CALL_REDUCE)
        return ALGORITHM_BINOMIAL;
    if (ranks > ALGORITHM_FEW || (kind == CALL_ALL_REDUCE && bytes <= 64 * KIB))
        return ALGORITHM_DOUBLING;
    return ALGORITHM_FLAT;
}

static enum algorithm algorithm_find(enum call_kind kind, size_t bytes, const struct group *g)
{
    unsigned media = group_media(g);
    int row = 0;

    for (int i = 0; i < overrides.count; i++)
        if (override_fits(&overrides.items[i], kind, bytes, media))
            return (enum algorithm)overrides.items[i].algorithm;
    while (!row_fits(row, kind, bytes, g->size, media))
        row++; /* the last row of each call fits every group */
    return table[row].algorithm;
}

int algorithm_choose(enum call_kind kind, size_t bytes, struct group *g, enum algorithm *out,
                     struct fault *why)
{
    int rc;

    pthread_once(&once, overrides_read);
    rc = overrides_check(why);
    if (rc)
        return rc;
    bytes += g->call_rest;
    *out = algorithm_find(kind, bytes, g);
    if (overrides.is_deterministic && call_kind_has(kind, CALL_REDUCES))
        *out = algorithm_one_by_one(*out, kind, g->size);
    else if (algorithm_needs_order(g))
        *out = algorithm_in_order(*out, kind, bytes, g->size);
    /* Not as a part of another call, as the barrier of ml_split is, nor for each piece. */
    if (g->call.kind == kind && g->world && g->world->counters && g->words.algorithm != names[*out])
        rank_counters_add(&g->world->counters->calls[kind].algorithms[*out + 1], 1);
    g->words.algorithm = names[*out];
    return 0;
}
