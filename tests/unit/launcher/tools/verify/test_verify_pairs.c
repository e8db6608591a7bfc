/* SPDX-License-Identifier: MIT */
/* test_verify_pairs.c: which pairs of hosts are found bad. The figures of each measurement are the
 * test's, in place of those of `mlaunch bench link`. */
#include "launcher/tools/verify/pair_run.h"
#include "launcher/tools/verify/verify_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 4, RUNS = 128 };

/* What host a and b get in a measurement of them; the last one of a pair holds on. */
struct said {
    int a, b;
    struct pair_rail rail;
    long long errors;
    const char *error;
};

static struct {
    struct said list[RUNS];
    size_t count;
    int asked[HOSTS][HOSTS]; /* how often they were measured */
    size_t most;             /* at once */
    const char *bytes;
} play;

static const struct pair_rail good = {-1, {"mlx5_0", "mlx5_0"}, 2, 3, 24, 24, 48};

int pair_run_all(struct pair_run *runs, size_t count, const struct query_command *c,
                 struct fault *why)
{
    bool is_used[HOSTS] = {false};

    (void)c;
    (void)why;
    play.most = count > play.most ? count : play.most;
    for (size_t i = 0; i < count; i++) {
        struct pair_run *r = &runs[i];
        int left = play.asked[r->a][r->b]++;

        assert_false(is_used[r->a] || is_used[r->b]);
        is_used[r->a] = is_used[r->b] = true;
        play.bytes = r->bytes;
        r->count = 1;
        r->rails[0] = good;
        for (size_t k = 0; k < play.count; k++) {
            const struct said *s = &play.list[k];

            if (s->a != r->a || s->b != r->b)
                continue;
            r->rails[0] = s->rail;
            r->errors = s->errors;
            r->count = !s->error;
            snprintf(r->error, sizeof(r->error), "%s", s->error ? s->error : "");
            if (left-- == 0)
                break;
        }
    }
    return 0;
}

bool verify_reach_is_mutual(const struct verify *v, int a, int b)
{
    (void)v;
    (void)a;
    (void)b;
    return true;
}

static void say(int a, int b, struct pair_rail rail)
{
    play.list[play.count++] = (struct said){.a = a, .b = b, .rail = rail};
}

/* A host with a ConnectX-6, or with Soft-RoCE if `driver` is "", or without devices if it is
 * NULL. */
static json_t *machine(const char *driver, const char *rate)
{
    json_t *root = json_pack("{s{} s[]}", "system", "devices");

    if (driver)
        json_array_append_new(json_object_get(root, "devices"),
                              json_pack("{ss ss ss si s[{ss ss ss ss}]}", "name", "mlx5_0",
                                        "driver", driver, "speed", "16.0 GT/s PCIe", "width", 16,
                                        "ports", "port", "1", "state", "4: ACTIVE", "rate", rate,
                                        "link_layer", "InfiniBand"));
    return root;
}

static struct finding_list found;
static json_t *links;

static void verify_machines(const char *driver, const char *rate)
{
    static const char *const names[HOSTS] = {"a", "b", "c", "d"};
    struct host hosts[HOSTS] = {{0}};
    struct host_list list = {.hosts = hosts, .count = HOSTS};
    struct host_facts facts[HOSTS] = {{0}};
    struct query_answer answers[HOSTS] = {{0}};
    struct verify v = {.c = {.hosts = &list, .answers = answers}, .survey.hosts = facts};
    struct fault why;

    for (int i = 0; i < HOSTS; i++) {
        json_t *said = machine(driver, rate);

        hosts[i].name = (char *)(uintptr_t)names[i];
        assert_int_equal(host_facts_read(&facts[i], said, &why), 0);
        json_decref(said);
    }
    memset(play.asked, 0, sizeof(play.asked));
    play.most = 0;
    finding_clear(&found);
    json_decref(links);
    assert_int_equal(verify_pairs(&v, &why), 0);
    found = v.findings;
    links = v.pairs;
    for (int i = 0; i < HOSTS; i++)
        host_facts_clear(&facts[i]);
}

static void verify_hardware(void)
{
    verify_machines("mlx5_core", "200 Gb/sec (4X HDR)");
}

static void expect_none(void)
{
    for (size_t i = 0; i < found.count; i++)
        fprintf(stderr, "found: %s\n", found.list[i].text);
    assert_int_equal(found.count, 0);
}

/* That alone was found, between a and b. */
static void expect(enum finding_kind kind, const char *text)
{
    for (size_t i = 0; i < found.count; i++)
        if (found.count != 1 || strcmp(found.list[i].text, text) != 0)
            fprintf(stderr, "found: %s\n", found.list[i].text);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.list[0].kind, kind);
    assert_string_equal(found.list[0].host, "a");
    assert_string_equal(found.list[0].peer, "b");
    assert_string_equal(found.list[0].text, text);
}

static int play_begin(void **state)
{
    (void)state;
    memset(&play, 0, sizeof(play));
    return 0;
}

static void test_equal(void **state)
{
    (void)state;
    verify_hardware();
    expect_none();
    assert_int_equal(json_array_size(links), 6);
    assert_int_equal(play.most, 2);
    assert_string_equal(play.bytes, "4M");
    for (int a = 0; a < HOSTS; a++)
        for (int b = a + 1; b < HOSTS; b++)
            assert_int_equal(play.asked[a][b], 1);
}

static void test_bandwidth(void **state)
{
    struct pair_rail slow = good;

    (void)state;
    slow.back = 22.5; /* 93.75 % */
    say(0, 1, slow);
    verify_hardware();
    expect_none();
    play_begin(NULL);
    slow.back = 22.2;
    say(0, 1, slow);
    verify_hardware();
    expect(FINDING_BANDWIDTH, "22.200 GB/s from b to a over rdma (mlx5_0 and mlx5_0), 92 % of the "
                              "best pair's 24.000 GB/s (at least 93 %)");
    assert_int_equal(play.asked[0][1], 4);
    slow.back = 24;
    slow.there = 11;
    play.list[0].rail = slow;
    verify_machines("", "200 Gb/sec (4X HDR)"); /* emulated */
    expect(FINDING_BANDWIDTH, "11.000 GB/s from a to b over rdma (mlx5_0 and mlx5_0), 46 % of the "
                              "best pair's 24.000 GB/s (at least 50 %)");
    assert_string_equal(play.bytes, "256K");
    slow.there = 12.1;
    play.list[0].rail = slow;
    verify_machines("", "200 Gb/sec (4X HDR)");
    expect_none();
    verify_machines(NULL, NULL); /* over TCP */
    expect_none();
}

/* What is bad for a while is no finding. */
static void test_again(void **state)
{
    struct pair_rail slow = good;

    (void)state;
    slow.there = 5;
    for (int i = 0; i < 3; i++)
        say(0, 1, slow);
    say(0, 1, good);
    verify_hardware();
    expect_none();
    assert_int_equal(play.asked[0][1], 4);
    play_begin(NULL);
    slow.back = 5;
    say(0, 1, slow); /* all become as slow as that one */
    for (int a = 0; a < HOSTS; a++) {
        for (int b = a + 1; b < HOSTS; b++) {
            if (a == 0 && b == 1)
                continue;
            say(a, b, good);
            say(a, b, slow);
        }
    }
    verify_machines("", "200 Gb/sec (4X HDR)");
    expect_none();
}

/* A link whose figures differ widely is measured more often. */
static void test_unsteady(void **state)
{
    struct pair_rail slow = good, slower = good;

    (void)state;
    slow.there = 11;
    slower.there = 5;
    for (int i = 0; i < 3; i++) {
        say(0, 1, slower);
        say(0, 1, slow);
    }
    say(0, 1, good);
    verify_hardware();
    expect_none();
    assert_int_equal(play.asked[0][1], 7);
    play.list[6].rail = slow;
    verify_hardware();
    expect(FINDING_BANDWIDTH, "11.000 GB/s from a to b over rdma (mlx5_0 and mlx5_0), 46 % of the "
                              "best pair's 24.000 GB/s (at least 93 %)");
    assert_int_equal(play.asked[0][1], 11);
}

static void test_latency(void **state)
{
    struct pair_rail late = good;

    (void)state;
    late.us = 4.1;
    late.p99_us = 12;
    say(0, 1, late);
    verify_hardware();
    expect_none();
    play.list[0].rail.us = 4.3;
    verify_hardware();
    expect(FINDING_LATENCY, "8 bytes take 4.3 us over rdma (mlx5_0 and mlx5_0), 2.1 times the "
                            "median of all pairs, 2.0 us (at most 2.1 times)");
}

static void test_jitter(void **state)
{
    struct pair_rail uneven = good;

    (void)state;
    uneven.p99_us = 6.2;
    say(0, 1, uneven);
    verify_hardware();
    expect(FINDING_JITTER,
           "of 100 messages of 8 bytes over rdma (mlx5_0 and mlx5_0) one takes more "
           "than 6.2 us, 3.1 times the median, 2.0 us (at most 3 times)");
    verify_machines(NULL, NULL);
    expect_none();
    play.list[0].rail.p99_us = 31;
    verify_machines(NULL, NULL);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.list[0].kind, FINDING_JITTER);
}

static void test_port_rate(void **state)
{
    struct pair_rail equal = good;

    (void)state;
    equal.there = equal.back = 12;
    for (int a = 0; a < HOSTS; a++)
        for (int b = a + 1; b < HOSTS; b++)
            if (a + b > 1)
                say(a, b, good);
    say(0, 1, equal);
    verify_machines("mlx5_core", "100 Gb/sec (4X EDR)");
    assert_int_equal(found.list[0].kind, FINDING_BANDWIDTH); /* beside the others */
    play_begin(NULL);
    equal.there = equal.back = 4.2;
    for (int a = 0; a < HOSTS; a++)
        for (int b = a + 1; b < HOSTS; b++)
            say(a, b, equal);
    verify_machines("mlx5_core", "40 Gb/sec (4X QDR)"); /* 4 GB/s of data */
    expect_none();
    verify_machines("mlx5_core", "40 Gb/sec (4X FDR10)");
    assert_int_equal(found.count, 6);
    assert_int_equal(found.list[0].kind, FINDING_PORT_RATE);
    assert_string_equal(found.list[0].text,
                        "4.200 GB/s from a to b over rdma (mlx5_0 and mlx5_0), 84 % of the 5.000 "
                        "GB/s that its ports carry (at least 90 %)");
    verify_machines("mlx5_core", "400 Gb/sec (4X NDR)"); /* and its PCIe link less */
    assert_string_equal(found.list[0].text,
                        "4.200 GB/s from a to b over rdma (mlx5_0 and mlx5_0), 15 % of the 28.357 "
                        "GB/s that its ports carry (at least 90 %)");
}

static void test_data(void **state)
{
    (void)state;
    play.list[play.count++] = (struct said){.a = 0, .b = 1, .rail = good, .errors = 3};
    verify_hardware();
    expect(FINDING_DATA, "3 bytes arrived wrong over rdma (at most 0)");
    assert_int_equal(play.asked[0][1], 1);
}

static void test_failure(void **state)
{
    (void)state;
    play.list[play.count++] = (struct said){.a = 0, .b = 1, .error = "no wire"};
    verify_hardware();
    expect(FINDING_LINK, "mlaunch bench link fails over rdma: no wire");
    assert_int_equal(play.asked[0][1], 2);
    assert_int_equal(json_array_size(links), 5);
    say(0, 1, good); /* the second time */
    verify_hardware();
    expect_none();
}

/* What the ports' counters say before and after the traffic. */
static void counters_grow(const char *driver, const char *name, int before, int after)
{
    struct host host = {.name = (char *)(uintptr_t) "a"};
    struct host_list list = {.hosts = &host, .count = 1};
    struct host_facts facts[2] = {{0}};
    struct verify v = {.c.hosts = &list, .survey.hosts = facts};
    struct fault why;

    for (int i = 0; i < 2; i++) {
        json_t *said = machine(driver, "100 Gb/sec (4X EDR)");
        json_t *device = json_array_get(json_object_get(said, "devices"), 0);

        json_object_set_new(json_array_get(json_object_get(device, "ports"), 0), "counters",
                            json_pack("{si}", name, i ? after : before));
        assert_int_equal(host_facts_read(&facts[i], said, &why), 0);
        json_decref(said);
    }
    finding_clear(&found);
    verify_counters(&v, &facts[1]);
    found = v.findings;
    host_facts_clear(&facts[0]);
    host_facts_clear(&facts[1]);
}

static void test_counters(void **state)
{
    (void)state;
    counters_grow("mlx5_core", "symbol_error", 4, 4);
    expect_none();
    counters_grow("mlx5_core", "port_rcv_packets", 4, 9);
    expect_none();
    counters_grow("mlx5_core", "symbol_error", 4, 9);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.list[0].kind, FINDING_COUNTER);
    assert_string_equal(found.list[0].text, "mlx5_0 port 1's counter symbol_error has grown by 5 "
                                            "during the traffic (at most 0)");
    counters_grow("", "duplicate_request", 4, 9);
    expect_none();
    counters_grow("", "retry_exceeded_err", 4, 9);
    assert_int_equal(found.count, 1);
    counters_grow("mlx5_core", "np_cnp_sent", 4, 9);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.list[0].kind, FINDING_CONGESTION);
}

static int end(void **state)
{
    (void)state;
    finding_clear(&found);
    json_decref(links);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_equal, play_begin),
        cmocka_unit_test_setup(test_bandwidth, play_begin),
        cmocka_unit_test_setup(test_again, play_begin),
        cmocka_unit_test_setup(test_unsteady, play_begin),
        cmocka_unit_test_setup(test_latency, play_begin),
        cmocka_unit_test_setup(test_jitter, play_begin),
        cmocka_unit_test_setup(test_port_rate, play_begin),
        cmocka_unit_test_setup(test_data, play_begin),
        cmocka_unit_test_setup(test_failure, play_begin),
        cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
