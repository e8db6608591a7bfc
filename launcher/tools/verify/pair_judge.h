/* SPDX-License-Identifier: MIT */
/*
 * pair_judge.h: which ways between hosts are worse than those of their class: the same backend, on
 * hardware or emulated, with ports of the same rate. The factors of latency and of bandwidth on
 * hardware are those of NVIDIA's ClusterKit.
 */
#ifndef LAUNCHER_TOOLS_VERIFY_PAIR_JUDGE_H
#define LAUNCHER_TOOLS_VERIFY_PAIR_JUDGE_H

#include "launcher/tools/verify/finding.h"
#include "launcher/tools/verify/pair_run.h"

#include <stdbool.h>
#include <stddef.h>

enum pair_trouble {
    PAIR_IS_LATE = 1,
    PAIR_IS_SLOW = 2,       /* beside the others */
    PAIR_IS_BELOW_RATE = 4, /* what its ports carry */
    PAIR_IS_UNEVEN = 8
};

/* What a way is judged by. */
struct pair_reference {
    double us, p99_us;         /* the median way's */
    double best;               /* GB/s, of any way in any direction */
    size_t median_at, best_at; /* the pairs that have these */
};

/* The least and the most of a figure in all measurements of a way. */
struct pair_extent {
    double least, most;
};

/* One way between two hosts. */
struct verified_way {
    struct pair_rail rail;
    struct pair_extent us, p99_us, slower; /* in the slower direction: GB/s; all 0: none yet */
    double rate;                           /* GB/s that its ports carry; 0: unknown */
    unsigned trouble;                      /* enum pair_trouble; 0: none */
    struct pair_reference against;         /* for `trouble` */
};

struct verified_pair {
    int a, b;            /* hosts */
    const char *backend; /* "rdma", "tcp" */
    bool is_hardware;    /* RDMA that is not emulated */
    struct verified_way ways[RDMA_RAILS];
    int count; /* 0: there are no figures */
    long long errors;
    char error[256]; /* why; or "" */
};

/* Whether two ways are of one class. */
bool pair_judge_is_alike(const struct verified_pair *a, const struct verified_way *way,
                         const struct verified_pair *b, const struct verified_way *other);

/* Puts the way's figures into its extents. */
void pair_judge_extend(struct verified_way *w);

/* Whether all measurements of the way were about alike. If not, what takes from it comes and goes,
 * as on a busy machine, and says nothing about the link. */
bool pair_judge_is_steady(const struct verified_way *w);

/* The class of a way of pairs[at], itself among it. */
void pair_judge_refer(struct pair_reference *out, const struct verified_pair *pairs, size_t count,
                      size_t at, int way);

/* What is wrong with a way. */
unsigned pair_judge(const struct verified_pair *p, const struct verified_way *w,
                    const struct pair_reference *against);

/* Adds the worst that is wrong with a way, if anything is. */
void pair_judge_report(struct finding_list *findings, const struct verified_pair *p, int way,
                       const char *a, const char *b);

#endif
