/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_ROOM = 16 << 10 }; /* a page has some 5,000 bytes */

static const int codes[METRICS_CODES] = {200, 400, 401, 404, 405, 411, 413,
                                         415, 421, 429, 431, 500, 501, 503};

/* Seconds; the last one is followed by +Inf. */
static const double bounds[HISTOGRAM_BOUNDS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                0.25,  0.5,    1,     2.5,  5,     10,   30};

void histogram_add(struct histogram *h, double seconds, uint64_t times)
{
    int i = 0;

    while (i < HISTOGRAM_BOUNDS && seconds > bounds[i])
        i++;
    h->counts[i] += times;
    h->sum += seconds * (double)times;
}

void metrics_answered(struct metrics *m, int status)
{
    for (int i = 0; i < METRICS_CODES; i++)
        m->answers[i] += codes[i] == status;
}

static void number_print(FILE *to, const char *name, const char *type, const char *help,
                         double value)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

static void histogram_print(FILE *to, const char *name, const char *help, const struct histogram *h)
{
    uint64_t below = 0;

    fprintf(to, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (int i = 0; i < HISTOGRAM_BOUNDS; i++) {
        below += h->counts[i];
        fprintf(to, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, bounds[i], below);
    }
    below += h->counts[HISTOGRAM_BOUNDS];
    fprintf(to, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, below);
    fprintf(to, "%s_sum %.9g\n%s_count %" PRIu64 "\n", name, h->sum, name, below);
}

static void counters_print(FILE *to, const struct metrics *m)
{
    fprintf(to, "# HELP llm_requests_total Answers by HTTP status, but for pages that show how the "
                "server is.\n# TYPE llm_requests_total counter\n");
    for (int i = 0; i < METRICS_CODES; i++)
        fprintf(to, "llm_requests_total{code=\"%d\"} %" PRIu64 "\n", codes[i], m->answers[i]);
    number_print(to, "llm_requests_left_total", "counter",
                 "Requests whose client went before their end.", (double)m->left);
    number_print(to, "llm_prompt_tokens_total", "counter", "Tokens of prompts.",
                 (double)m->prompt_tokens);
    number_print(to, "llm_prompt_tokens_reused_total", "counter",
                 "Of these, those that a slot had computed before.", (double)m->reused_tokens);
    number_print(to, "llm_answer_tokens_total", "counter", "Tokens generated.",
                 (double)m->answer_tokens);
    histogram_print(to, "llm_time_to_first_token_seconds",
                    "From a request to its first token, the queue included.", &m->first_token_s);
    histogram_print(to, "llm_token_seconds", "From one token of an answer to the next.",
                    &m->token_s);
}

static void gauges_print(FILE *to, const struct metrics_gauges *now)
{
    number_print(to, "llm_ready", "gauge", "1 when requests are answered.", now->is_ready);
    number_print(to, "llm_queue_size", "gauge", "Requests that wait for a slot.", now->queue_size);
    number_print(to, "llm_queue_limit", "gauge", "How many may wait.", now->queue_most);
    number_print(to, "llm_slots", "gauge", "How many are answered at a time.", now->slots);
    number_print(to, "llm_slots_busy", "gauge", "How many are answered now.", now->running);
    number_print(to, "llm_connections", "gauge", "Connections of clients.", now->connections);
    number_print(to, "llm_ranks", "gauge", "Ranks over which the model lies.", now->ranks);
    number_print(to, "llm_restarts", "gauge", "How often the job was started again.",
                 (double)now->restarts);
}

char *metrics_page(const struct metrics *m, const struct metrics_gauges *now)
{
    char *page = malloc(PAGE_ROOM);
    FILE *to = page ? fmemopen(page, PAGE_ROOM, "w") : NULL;

    if (to) {
        counters_print(to, m);
        gauges_print(to, now);
        if (fclose(to) == 0)
            return page;
    }
    free(page);
    return NULL;
}
