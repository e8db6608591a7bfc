/* SPDX-License-Identifier: MIT */
/*
 * top_host.h: what an agent has said of its host and of the jobs there, as numbers, and how fast
 * they have grown since it was asked before. What is missing in an answer, or has another type, is
 * unknown: NAN.
 */
#ifndef LAUNCHER_TOOLS_TOP_TOP_HOST_H
#define LAUNCHER_TOOLS_TOP_TOP_HOST_H

#include "common/fault.h"
#include "launcher/ask/job_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What grows while a rank runs. */
enum top_count {
    TOP_CPU, /* seconds */
    TOP_CALLS,
    TOP_WAIT,  /* seconds in which a call waited for other ranks */
    TOP_LINKS, /* from here on bytes, two of each link: sent, received */
    TOP_COUNTS = TOP_LINKS + 6
};
enum { TOP_LINK_KINDS = 3 };
extern const char *const top_link_names[TOP_LINK_KINDS]; /* "shm", "tcp", "rdma" */

/* What a rank uses, or several together. */
struct top_use {
    double memory;            /* bytes */
    double rates[TOP_COUNTS]; /* a second */
};

struct top_rank {
    long long rank, pid;
    const char *state, *name; /* parts of the answer, as `said` */
    const char *cores;        /* "0-3": where it may run; "": everywhere */
    bool is_alive;
    double waits_s;            /* for how long its oldest call has waited; 0: none does */
    const char *wait;          /* that call, in words */
    double counts[TOP_COUNTS]; /* so far */
    struct top_use use;
    json_t *said;
};

/* A job on one host. */
struct top_job {
    const char *id, *name, *user, *command, *state;
    char shown[JOB_STATE_TEXT]; /* the state in words */
    long long size, age_s;
    double memory;
    struct top_rank *ranks;
    size_t rank_count;
};

enum top_host_count {
    TOP_HOST_CPU,      /* seconds of all processors in which they did something */
    TOP_HOST_SENT,     /* bytes, by the RDMA ports */
    TOP_HOST_RECEIVED, /* likewise */
    TOP_HOST_ERRORS,   /* on the RDMA ports */
    TOP_HOST_COUNTS
};

struct top_host {
    const char *name; /* not the host's own */
    json_t *said;     /* NULL: nothing, or it has failed since */
    char error[512];  /* why; "" */
    int64_t said_ns;  /* clock_ns() of the answer */
    double load, cores, memory, available;
    int ports, ports_active;
    double counts[TOP_HOST_COUNTS], rates[TOP_HOST_COUNTS];
    double errors; /* how many there have been since the first answer */
    double errors_first;
    struct top_job *jobs;
    size_t job_count;
};

/* Replaces what the host has said before, with which the new answer is compared. `said` is kept.
 * ML_ERR_MEMORY; ML_ERR_REFUSED: it is malformed; then nothing has changed. */
int top_host_take(struct top_host *h, json_t *said, int64_t now_ns, struct fault *why);

/* The host has failed, for that reason. Its jobs are not known any more. */
void top_host_fail(struct top_host *h, const char *text);

/* Forgets what it has said; its name, the time and the count of errors stay for its next answer. */
void top_host_clear(struct top_host *h);

/* Adds what is known; the sum of what is not is NAN. Begin with top_use_none. */
void top_use_add(struct top_use *sum, const struct top_use *one);
extern const struct top_use top_use_none;

#endif
