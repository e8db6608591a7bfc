/* SPDX-License-Identifier: MIT */
/*
 * metrics.h: what the server has done since it was started, counted, and as Prometheus reads it
 * (text format 0.0.4). For the loop's thread.
 */
#ifndef LLM_SERVE_METRICS_H
#define LLM_SERVE_METRICS_H

#include <stdint.h>

enum { HISTOGRAM_BOUNDS = 14, METRICS_CODES = 14 };

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* each without those below */
    double sum;
};

struct metrics {
    uint64_t answers[METRICS_CODES]; /* by HTTP status */
    uint64_t left;                   /* whose client went before the end */
    uint64_t prompt_tokens, reused_tokens, answer_tokens;
    struct histogram first_token_s; /* from the request to the first token */
    struct histogram token_s;       /* from one token to the next */
    double request_s;               /* a moving mean of finished ones; 0: none yet */
};

/* What others know at the moment. */
struct metrics_gauges {
    uint32_t queue_size, queue_most, running, slots, connections, ranks;
    long restarts;
    int is_ready;
};

void histogram_add(struct histogram *h, double seconds, uint64_t times);
void metrics_answered(struct metrics *m, int status);

/* The whole page; the caller frees it. NULL: no memory. */
char *metrics_page(const struct metrics *m, const struct metrics_gauges *now);

#endif
