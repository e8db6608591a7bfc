/* SPDX-License-Identifier: MIT */
/*
 * link_judge.h: which ways between hosts are worse than those of their class: the same backend, on
 * hardware or emulated, with ports of the same rate. The factors of latency and of bandwidth on
 * hardware are those of NVIDIA's ClusterKit.
 */
#ifndef LAUNCHER_TOOLS_VERIFY_LINK_JUDGE_H
#define LAUNCHER_TOOLS_VERIFY_LINK_JUDGE_H

#include "launcher/tools/verify/finding.h"
#include "launcher/tools/verify/pair_run.h"

#include <stdbool.h>
#include <stddef.h>

enum link_trouble {
    LINK_IS_LATE = 1,
    LINK_IS_SLOW = 2,       /* beside the others */
    LINK_IS_BELOW_RATE = 4, /* of its ports */
    LINK_IS_UNEVEN = 8
};

/* What a way is judged by. */
struct link_reference {
    double us, p99_us;         /* of the median way */
    double best;               /* GB/s, of any way in any direction */
    size_t median_at, best_at; /* the links that have these */
};

/* The least and the most of a figure in all measurements of a way. */
struct link_extent {
    double least, most;
};

/* One way between two hosts. */
struct link_way {
    struct pair_rail rail;
    struct link_extent us, p99_us, slower; /* of the slower direction: GB/s; all 0: none yet */
    double rate;                           /* GB/s that its ports carry; 0: unknown */
    unsigned trouble;                      /* enum link_trouble; 0: none */
    struct link_reference against;         /* of `trouble` */
};

struct verified_link {
    int a, b;            /* hosts */
    const char *backend; /* "rdma", "tcp" */
    bool is_hardware;    /* RDMA that is not emulated */
    struct link_way ways[RDMA_RAILS];
    int count; /* 0: there are no figures */
    long long errors;
    char error[256]; /* why; or "" */
};

/* Whether two ways are of one class. */
bool link_judge_is_alike(const struct verified_link *a, const struct link_way *way,
                         const struct verified_link *b, const struct link_way *other);

/* Puts the way's figures into its extents. */
void link_judge_extend(struct link_way *w);

/* Whether all measurements of the way were about alike. If not, what takes from it comes and goes,
 * as on a busy machine, and says nothing about the link. */
bool link_judge_is_steady(const struct link_way *w);

/* The class of a way of links[at], itself among it. */
void link_judge_refer(struct link_reference *out, const struct verified_link *links, size_t count,
                      size_t at, int way);

/* What is wrong with a way. */
unsigned link_judge(const struct verified_link *l, const struct link_way *w,
                    const struct link_reference *against);

/* Adds the worst that is wrong with a way, if anything is. */
void link_judge_report(struct finding_list *findings, const struct verified_link *l, int way,
                       const char *a, const char *b);

#endif
