/* SPDX-License-Identifier: MIT */
/* test_top_host.c: rates from two answers of a host; answers that lack things or are odd. */
#include "launcher/tools/top/top_host.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const int64_t second = 1000000000;

/* The host answers with `text` at `at_s`. */
static int take(struct top_host *h, double at_s, const char *text, struct fault *why)
{
    json_t *said = json_loads(text, 0, NULL);
    int rc;

    assert_non_null(said);
    rc = top_host_take(h, said, (int64_t)(at_s * (double)second), why);
    json_decref(said);
    return rc;
}

static void must_take(struct top_host *h, double at_s, const char *text)
{
    struct fault why;

    assert_int_equal(take(h, at_s, text, &why), 0);
}

#define RANK(pid, cpu, calls, wait, sent)                                                          \
    "{\"rank\": 3, \"pid\": " #pid ", \"state\": \"R\", \"cpu_s\": " #cpu                          \
    ", \"memory_bytes\": 4096, \"counters\": {\"calls\": [{\"call\": \"all_reduce\", "             \
    "\"count\": " #calls ", \"wait_s\": " #wait                                                    \
    "}, {\"call\": \"barrier\", \"count\": 1, \"wait_s\": 0}], "                                   \
    "\"links\": [{\"host\": \"b\", \"link\": \"tcp\", \"sent\": " #sent ", \"received\": 7}, "     \
    "{\"host\": \"c\", \"link\": \"tcp\", \"sent\": 5, \"received\": 1}, {\"host\": \"a\", "       \
    "\"link\": \"shm\", \"sent\": 100, \"received\": 100}, {\"host\": \"a\", \"link\": \"self\", " \
    "\"sent\": 1, \"received\": 1}]}}"
#define HOST(rank)                                                                                 \
    "{\"system\": {\"cores\": 2, \"load\": 0.5, \"memory_bytes\": 1000, "                          \
    "\"memory_available_bytes\": 400}, \"jobs\": [{\"job\": \"j\", \"state\": \"live\", "          \
    "\"size\": 4, \"started_at\": 100, \"age_s\": 50, \"ranks\": [" rank "]}]}"

static void test_rates(void **state)
{
    struct top_host h = {.name = "a"};
    const struct top_rank *r;

    (void)state;
    must_take(&h, 10, HOST(RANK(77, 1.0, 10, 0.5, 1000)));
    assert_true(isnan(h.jobs[0].ranks[0].use.rates[TOP_CPU]));
    must_take(&h, 12, HOST(RANK(77, 2.0, 30, 1.5, 5000)));
    r = &h.jobs[0].ranks[0];
    assert_float_equal(r->use.rates[TOP_CPU], 0.5, 1e-9);
    assert_float_equal(r->use.rates[TOP_CALLS], 10, 1e-9);
    assert_float_equal(r->use.rates[TOP_WAIT], 0.5, 1e-9);
    assert_float_equal(r->use.rates[TOP_LINKS], 0, 1e-9);        /* shm, sent */
    assert_float_equal(r->use.rates[TOP_LINKS + 2], 2000, 1e-9); /* tcp, sent to all hosts */
    assert_float_equal(r->use.rates[TOP_LINKS + 3], 0, 1e-9);
    assert_float_equal(r->counts[TOP_LINKS + 3], 8, 1e-9);
    assert_float_equal(r->use.memory, 4096, 1e-9);
    top_host_clear(&h);
}

/* A rank that was started again, one whose counts have fallen, and a host that was lost between. */
static void test_began_anew(void **state)
{
    struct top_host h = {.name = "a"};

    (void)state;
    must_take(&h, 10, HOST(RANK(77, 1.0, 10, 0, 0)));
    must_take(&h, 11, HOST(RANK(78, 2.0, 30, 0, 0)));
    assert_true(isnan(h.jobs[0].ranks[0].use.rates[TOP_CALLS]));
    must_take(&h, 12, HOST(RANK(78, 1.0, 40, 0, 0)));
    assert_true(isnan(h.jobs[0].ranks[0].use.rates[TOP_CPU]));
    assert_float_equal(h.jobs[0].ranks[0].use.rates[TOP_CALLS], 10, 1e-9);
    top_host_fail(&h, "it has gone");
    assert_string_equal(h.error, "it has gone");
    assert_null(h.said);
    assert_int_equal(h.job_count, 0);
    must_take(&h, 13, HOST(RANK(78, 3.0, 50, 0, 0)));
    assert_true(isnan(h.jobs[0].ranks[0].use.rates[TOP_CALLS]));
    assert_string_equal(h.error, "");
    top_host_clear(&h);
}

#define PORT(sent, errors)                                                                         \
    "{\"jobs\": [], \"system\": {\"cores\": 2}, \"cpu_s\": {\"user\": " #sent                      \
    ", \"idle\": 5000, \"iowait\": 9}, "                                                           \
    "\"devices\": [{\"name\": \"mlx5_0\", \"ports\": [{\"state\": \"4: ACTIVE\", "                 \
    "\"counters\": {\"port_xmit_data\": " #sent ", \"symbol_error\": " #errors                     \
    ", \"out_of_sequence\": 2}}, {\"state\": \"1: DOWN\"}]}]}"

static void test_host(void **state)
{
    struct top_host h = {.name = "a"};

    (void)state;
    must_take(&h, 1, PORT(100, 5));
    assert_int_equal(h.ports, 2);
    assert_int_equal(h.ports_active, 1);
    assert_float_equal(h.errors, 0, 1e-9);
    assert_true(isnan(h.rates[TOP_HOST_RECEIVED]));
    assert_true(isnan(h.memory));
    must_take(&h, 2, PORT(101, 9));
    assert_float_equal(h.rates[TOP_HOST_SENT], 4, 1e-9); /* words of four bytes */
    assert_float_equal(h.rates[TOP_HOST_CPU], 1, 1e-9);
    assert_float_equal(h.errors, 4, 1e-9);
    top_host_fail(&h, "lost");
    must_take(&h, 9, PORT(101, 10));
    assert_float_equal(h.errors, 5, 1e-9); /* since the first answer */
    top_host_clear(&h);
}

static void test_waits(void **state)
{
    struct top_host h = {.name = "a"};

    (void)state;
    must_take(&h, 2,
              HOST("{\"rank\": 0, \"state\": \"S\", \"waits\": [{\"text\": \"recv\", \"since\": "
                   "149}, {\"text\": \"barrier\", \"since\": 140}, {\"text\": \"odd\"}]}, "
                   "{\"rank\": 1, \"state\": \"S\", \"waits\": []}, {\"rank\": 2, \"state\": "
                   "\"ended\"}"));
    assert_string_equal(h.jobs[0].ranks[0].wait, "barrier");
    assert_float_equal(h.jobs[0].ranks[0].waits_s, 10, 1e-9);
    assert_float_equal(h.jobs[0].ranks[1].waits_s, 0, 1e-9);
    assert_false(h.jobs[0].ranks[2].is_alive);
    top_host_clear(&h);
}

/* Other hosts may say anything. */
static void test_odd(void **state)
{
    static const char *const texts[] = {
        "{\"jobs\": [1, \"x\", null, {}, {\"job\": 7}, {\"job\": \"j\", \"ranks\": 5}]}",
        "{\"jobs\": [{\"job\": \"j\", \"state\": \"live\", \"ranks\": [1, {}, {\"rank\": \"x\", "
        "\"counters\": [], \"waits\": {}}, {\"rank\": 1e300, \"counters\": {\"calls\": [3], "
        "\"links\": [{\"link\": 3}]}, \"waits\": [5]}]}], \"devices\": [5, {\"ports\": [7]}], "
        "\"cpu_s\": [], \"system\": 3}",
    };
    struct top_host h = {.name = "a"};
    struct fault why;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        must_take(&h, (double)i, texts[i]);
    assert_int_equal(h.job_count, 1);
    assert_int_not_equal(take(&h, 9, "{\"jobs\": 5}", &why), 0);
    assert_string_equal(why.text,
                        "its agent sent a malformed ANSWER: \"jobs\" is not a list of objects");
    assert_int_equal(h.job_count, 1); /* as before */
    must_take(&h, 10, "{\"jobs\": [{\"job\": \"j\", \"state\": \"elsewhere\"}]}");
    assert_int_equal(h.job_count, 0);
    top_host_clear(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates), cmocka_unit_test(test_began_anew),
        cmocka_unit_test(test_host),  cmocka_unit_test(test_waits),
        cmocka_unit_test(test_odd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
