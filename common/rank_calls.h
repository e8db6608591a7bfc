/* SPDX-License-Identifier: MIT */
/*
 * rank_calls.h: a rank's calls, one record each, in a file that the rank maps and its agent reads
 * once the rank has ended, however that was (runtime/process/calls_file.h writes it,
 * launcher/agent/host/rank_record.h reads it):
 *
 *     ┌────────┬──────────┬──────────┬── … ──┐   the last 1,000 calls or some more, in a circle;
 *     │ header │ record 0 │ record 1 │       │   or, if all are kept, all: the file grows
 *     └────────┴──────────┴──────────┴── … ──┘
 *
 * A group takes 8 records at a time, so those of several groups alternate.
 *
 * The last calls lie in /dev/shm/mlaunch-UID-JOB.HOST.XXXXXX.calls.RANK, which the agent removes at
 * the job's end; all calls in JOB_DIR/calls.RANK.
 */
#ifndef COMMON_RANK_CALLS_H
#define COMMON_RANK_CALLS_H

#include "common/call_kinds.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    RANK_CALLS_MAGIC = 0x4d4c5231,
    RANK_CALLS_LAST = 1024, /* records of a file that has the last calls; a power of two */
    RANK_CALLS_BLOCK = 8,   /* records that a group takes at a time; some may stay empty */
    RANK_CALLS_PATH = 4096 + 64,
    RANK_CALL_NOBODY = -1,  /* as root, to, from */
    RANK_CALL_ANY = -2,     /* as from, until the message has come */
    RANK_CALL_ANY_TAG = -1, /* as seq, until then */
    RANK_CALL_MESSAGE = CALL_SEND
};

struct rank_call {
    uint64_t start, end; /* ticks (call_clock.h), to mlaunch ns of its clock; end 0: under way */
    uint64_t count;      /* a collective call's as struct call has it; bytes that are sent, or that
                          * an operator of the program combines */
    /* Bytes of a message that come, or may come while it is under way. With MLAUNCH_RECORD=hashes
     * those of what the call has read and, the lower half, written (task_hash.h). */
    uint64_t received;
    uint32_t number; /* among the rank's records, from 1, modulo 2^32; 0: it is not whole */
    uint32_t seq;    /* among the group's collective calls, from 1; for a message, its tag and 1, or
                     * 0 */
    uint32_t group;  /* the coordinator's number of it */
    uint32_t thread; /* differs between the rank's threads */
    int32_t to;      /* world rank: a call's root, or who gets the message */
    int32_t from;    /* world rank: whose message it is */
    uint8_t kind, type, op; /* enum call_kind; ml_type and ml_op of a reduction; op 1: a probe */
    uint8_t failed;         /* an error was returned */
    uint16_t generation;    /* the world's: how often the rank has joined */
    uint16_t unused;
};
_Static_assert(sizeof(struct rank_call) == 64, "a cache line");

/* A moment in ticks and in ns of CLOCK_MONOTONIC. */
struct call_moment {
    uint64_t ticks, ns;
};

struct rank_calls {
    uint32_t magic;
    uint8_t keeps_all;
    uint8_t ticks_are_ns;
    uint16_t unused;
    _Atomic uint64_t taken; /* records so far, in blocks */
    struct call_moment opened;
    uint64_t spare[4];
    struct rank_call calls[];
};
_Static_assert(sizeof(struct rank_calls) == 64, "so that each record has a cache line");

#endif
