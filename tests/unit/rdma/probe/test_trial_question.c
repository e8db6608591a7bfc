/* SPDX-License-Identifier: MIT */
/* test_trial_question.c: what is kept of the question that the launcher asks mlaunch-probe, and of
 * members that are missing or malformed. */
#include "rdma/probe/trial_question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct trial_question question_of(const char *text)
{
    struct trial_question q;
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(root);
    trial_question_read(&q, root);
    return q;
}

static void test_whole(void **state)
{
    struct trial_question q = question_of(
        "{\"host\":1,\"tag\":9007199254740993,\"port\":2,\"gid_index\":0,\"mtu\":1024,\"wait_ms\":"
        "70,"
        "\"wiring\":[],\"hosts\":[[],[{\"name\":\"m\",\"ports\":["
        "{\"port\":1,\"is_active\":false},"
        "{\"port\":2,\"queue_pair\":17,\"active_mtu\":4096,\"lid\":7,\"link_layer\":\"Ethernet\","
        "\"gids\":[{\"index\":3,\"gid\":\"fe80::1\",\"type\":\"RoCE v2\"},{}]}]}]]}");
    const struct trial_port *p;

    (void)state;
    assert_int_equal(q.host, 1);
    assert_int_equal(q.port, 2);
    assert_int_equal(q.gid_index, 0);
    assert_int_equal(q.mtu, 1024);
    assert_int_equal(q.wait_ms, 70);
    assert_true(q.tag == 9007199254740993u);
    assert_non_null(q.wiring);
    assert_int_equal(q.host_count, 2);
    assert_int_equal(q.hosts[0].count, 0);
    assert_int_equal(q.hosts[1].count, 1); /* only the one with a queue pair */
    p = &q.hosts[1].ports[0];
    assert_string_equal(p->device, "m");
    assert_int_equal(p->host, 1);
    assert_int_equal(p->id, (1 << 16) + 1);
    assert_int_equal(p->number, 2);
    assert_int_equal(p->mtu, 4096);
    assert_int_equal(p->lid, 7);
    assert_int_equal(p->queue_pair, 17);
    assert_true(p->is_ethernet);
    assert_int_equal(p->gid_count, 1);
    assert_int_equal(p->gids[0].index, 3);
    trial_question_clear(&q);
}

static void test_malformed(void **state)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "1",
                                        "{\"host\":\"0\",\"hosts\":[[]]}",
                                        "{\"host\":-2,\"hosts\":[[]]}",
                                        "{\"host\":4294967296,\"hosts\":[[]]}",
                                        "{\"host\":1,\"hosts\":[[]]}",
                                        "{\"host\":0,\"hosts\":{}}"};
    struct trial_question q;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        q = question_of(texts[i]);
        assert_int_equal(q.host, -1);
        assert_int_equal(q.gid_index, -1);
        assert_int_equal(q.wait_ms, 5000);
        assert_null(q.wiring);
        trial_question_clear(&q);
    }
    trial_question_read(&q, NULL);
    assert_int_equal(q.host, -1);
    trial_question_clear(&q);
    q = question_of("{\"host\":0,\"hosts\":[[1,{\"name\":2,\"ports\":[0,{\"queue_pair\":\"1\"},"
                    "{\"queue_pair\":1,\"port\":\"1\",\"gids\":[{\"gid\":\"x\"}]}]}],null]}");
    assert_int_equal(q.host, 0);
    assert_int_equal(q.host_count, 2);
    assert_int_equal(q.hosts[0].count, 1);
    assert_string_equal(q.hosts[0].ports[0].device, "");
    assert_int_equal(q.hosts[0].ports[0].number, 0);
    assert_int_equal(q.hosts[0].ports[0].gid_count, 0);
    trial_question_clear(&q);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests_name("trial_question", tests, NULL, NULL);
}
