/* SPDX-License-Identifier: MIT */
/*
 * test_job.h: a job without a launcher: its directories, a coordinator in a process of its own, and
 * forked ranks that use the library as programs do. The hosts are made up: all of them are this
 * machine.
 */
#ifndef TESTS_RUNTIME_TEST_JOB_H
#define TESTS_RUNTIME_TEST_JOB_H

#include "common/mlaunch.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

enum { JOB_RANKS = 64, JOB_WAIT_MS = 180000, RANK_FAILED = 99 };

struct job_config {
    int size;
    int hosts;           /* ranks are spread over them in blocks */
    const char *backend; /* "shm" (the default) or "tcp" */
    bool local_net, secure, elastic;
    int init_timeout_ms; /* default 30000 */
    int stall_ms;        /* default 0: never */
    int starting_port;   /* default 0: any */
    int replace_ms;      /* dead ranks may be replaced, and are waited for so long; default 0: no */
};

/* What the coordinator reported. In memory that is shared with its process. */
struct job_seen {
    int abort_rank, abort_status, stalls, refused;
    int met; /* job_meet */
    char why[256], stall[512];
};

struct job {
    struct job_config config;
    int host_of[JOB_RANKS];
    char id[64], root[PATH_MAX];
    pid_t coordinator;
    int exits; /* a pipe that tells the coordinator which rank ended */
    pid_t pids[JOB_RANKS];
    struct job_seen *seen;
};

/* For ranks: a condition that is not true ends the rank with a line on stderr. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %s: %s is false (%s)\n", __FILE__, __LINE__,              \
                    getenv("MLAUNCH_RANK"), #condition, ml_error());                               \
            _exit(RANK_FAILED);                                                                    \
        }                                                                                          \
    } while (0)
/* For promises of a time, which can be kept only where nothing else runs: it is less than `most_ms`
 * since `begin_ms`. Elsewhere JOB_WAIT_MS ends what hangs. */
#define REQUIRE_WITHIN(begin_ms, most_ms)                                                          \
    REQUIRE(!getenv("MLAUNCH_TEST_LONG") || job_now_ms() - (begin_ms) < (most_ms))
#define REQUIRE_TEXT(text, part) require_text(__FILE__, __LINE__, text, part)
void require_text(const char *file, int line, const char *text, const char *part);

typedef void rank_fn(struct job *j, int rank);

/* For the test program. Failures are cmocka's. */
void job_open(struct job *j, const struct job_config *config);
void job_spawn(struct job *j, int rank, rank_fn *fn);
/* The same for a process that takes a dead rank's place: the number-th that does. */
void job_spawn_again(struct job *j, int rank, int number, rank_fn *fn);
int job_wait(struct job *j, int rank);    /* as waitpid's status; tells the coordinator */
void job_run(struct job *j, rank_fn *fn); /* all ranks, which must end with 0 */
void job_close(struct job *j);            /* fails if anything is left behind */

/* open, run, close */
void job_do(const struct job_config *config, rank_fn *fn);

/* For ranks: returns once all ranks have called it; does not use the library. News from the
 * coordinator may overtake a rank that is still in an earlier call, so before a rank breaks the
 * group, all others must be past that call. */
void job_meet(const struct job *j);
/* The same for the `count` ranks that are left, fewer than all, and for the last time. */
void job_meet_left(const struct job *j, int count);
/* The next job_meet() is without `count` ranks, which are dead. For one rank to say. */
void job_meet_absent(const struct job *j, int count);

/* Milliseconds of some clock, and of this process's processor time; computes that long; a
 * directory's path. */
int64_t job_now_ms(void);
int64_t job_processor_ms(void);
void job_be_busy(int ms);
void job_dir(const struct job *j, int host, char path[PATH_MAX]);

/* The rank's runtime has told its agent that it has lost a peer. */
bool job_has_broken_mark(const struct job *j, int rank);
/* Removes what ranks that died have left in /dev/shm, as their agent would. */
void job_remove_segments(const struct job *j);

#endif
