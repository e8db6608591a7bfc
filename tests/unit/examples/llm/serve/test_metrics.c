/* SPDX-License-Identifier: MIT */
/* test_metrics.c: counts and histograms as Prometheus reads them. */
#include "examples/llm/serve/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_histogram_is_cumulative(void **state)
{
    struct metrics_gauges now = {.queue_size = 3, .queue_most = 8, .ranks = 2, .restarts = 1};
    struct metrics m = {0};
    char *page;

    (void)state;
    histogram_add(&m.token_s, 0.001, 2); /* a bound belongs to its bucket */
    histogram_add(&m.token_s, 0.03, 3);
    histogram_add(&m.token_s, 99, 1);
    metrics_answered(&m, 200);
    metrics_answered(&m, 429);
    metrics_answered(&m, 429);
    page = metrics_page(&m, &now);
    assert_non_null(strstr(page, "# TYPE llm_token_seconds histogram\n"));
    assert_non_null(strstr(page, "\nllm_token_seconds_bucket{le=\"0.001\"} 2\n"));
    assert_non_null(strstr(page, "\nllm_token_seconds_bucket{le=\"0.025\"} 2\n"));
    assert_non_null(strstr(page, "\nllm_token_seconds_bucket{le=\"0.05\"} 5\n"));
    assert_non_null(strstr(page, "\nllm_token_seconds_bucket{le=\"30\"} 5\n"));
    assert_non_null(strstr(page, "\nllm_token_seconds_bucket{le=\"+Inf\"} 6\n"));
    assert_non_null(strstr(page, "\nllm_token_seconds_sum 99.092\nllm_token_seconds_count 6\n"));
    assert_non_null(strstr(page, "\nllm_requests_total{code=\"200\"} 1\n"));
    assert_non_null(strstr(page, "\nllm_requests_total{code=\"429\"} 2\n"));
    assert_non_null(strstr(page, "\nllm_requests_total{code=\"503\"} 0\n"));
    assert_non_null(strstr(page, "\nllm_queue_size 3\n"));
    assert_non_null(strstr(page, "\nllm_restarts 1\n"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_histogram_is_cumulative)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
