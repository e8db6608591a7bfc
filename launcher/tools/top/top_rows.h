/* SPDX-License-Identifier: MIT */
/*
 * top_rows.h: what all hosts have said as one list of rows: the hosts, then each job with its ranks
 * on all of them, sorted and folded as chosen.
 */
#ifndef LAUNCHER_TOOLS_TOP_TOP_ROWS_H
#define LAUNCHER_TOOLS_TOP_TOP_ROWS_H

#include "launcher/base/text/string_list.h"
#include "launcher/tools/top/top_host.h"

enum top_column {
    TOP_BY_RANK, /* jobs by their age */
    TOP_BY_CPU,
    TOP_BY_MEMORY,
    TOP_BY_CALLS,
    TOP_BY_BYTES,
    TOP_BY_WAIT,
    TOP_COLUMNS
};
extern const char *const top_column_names[TOP_COLUMNS]; /* "rank", "cpu" … */

/* How the rows are wanted. All zero is also a choice. */
struct top_choice {
    enum top_column column; /* ranks come in order, of other columns the largest first */
    bool is_reversed;
    bool hides_hosts;
    struct string_list folded_jobs;  /* ids */
    struct string_list folded_hosts; /* names: their ranks are one row in each job */
};
void top_choice_clear(struct top_choice *c);

enum top_row_kind {
    TOP_ROW_HOSTS, /* titles; may be chosen, as it folds the hosts */
    TOP_ROW_HOST,
    TOP_ROW_BLANK,
    TOP_ROW_RANKS, /* titles */
    TOP_ROW_JOB,
    TOP_ROW_TEXT, /* about a job: who waits for whom */
    TOP_ROW_PART, /* a job's ranks on a folded host */
    TOP_ROW_RANK,
};

struct top_row {
    enum top_row_kind kind;
    const struct top_host *host;   /* for a HOST, PART or RANK */
    const struct top_whole *whole; /* for a JOB, TEXT, PART or RANK */
    const struct top_rank *rank;   /* for a RANK; for a PART its first */
    struct top_use use;            /* for a JOB, PART or RANK */
    int alive, waiting;            /* ranks of a JOB or PART */
    double order;                  /* the larger comes first */
    char *text;                    /* for a TEXT */
};

/* A job on all its hosts. */
struct top_whole {
    const struct top_job *first; /* as the first of its hosts has it */
    const struct top_job **parts;
    const struct top_host **hosts; /* the parts' */
    size_t part_count;
    bool is_stale;
    struct top_row row; /* the job's */
};

struct top_rows {
    struct top_row *rows;
    size_t count, room;
    struct top_whole *wholes;
    size_t whole_count;
    int host_count, hosts_known, ranks, waiting;
    bool links[TOP_LINK_KINDS]; /* which of them a rank has used */
};

/* Refers to `hosts`, which must stay as they are. ML_ERR_MEMORY. */
int top_rows_make(struct top_rows *out, const struct top_host *hosts, int count,
                  const struct top_choice *choice, struct fault *why);
void top_rows_clear(struct top_rows *r);

#endif
