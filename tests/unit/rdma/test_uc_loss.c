/* SPDX-License-Identifier: MIT */
/*
 * test_uc_loss.c: the queries by which a receiver on UC finds out that the last chunks were lost.
 * The device is a mock that receives nothing; the test sets what has arrived.
 */
#include "rdma/uc_loss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int sends;

static int device_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
    (void)qp, (void)work, (void)bad;
    sends++;
    return 0;
}

static int device_poll(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    (void)cq, (void)most, (void)out;
    return 0;
}

static struct ibv_context context = {.ops = {.post_send = device_send, .poll_cq = device_poll}};
static struct ibv_qp pair = {.context = &context};
static struct ibv_cq queue = {.context = &context};
static struct ibv_mr ring;
static struct port port = {.device = "tb0", .number = 1};
static struct rails rails;
static struct uc_loss loss;

static int setup(void **state)
{
    struct rail *r = calloc(1, sizeof(*r));

    (void)state;
    assert_non_null(r);
    r->fit.port = &port;
    r->sends = r->receives = &queue;
    r->memory.region = &ring;
    r->pair = (struct queue_pair){.kind = QUEUE_PAIR_UC, .qp = &pair, .max_inline = 0};
    r->fit.peer = "rank 1 on host b";
    r->is_connected = true;
    r->posted = 40;
    rails = (struct rails){.all = {r}, .count = 1};
    rails_start(&rails);
    loss = (struct uc_loss){0};
    sends = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(rails.all[0]);
    return 0;
}

/* After a second of sleep: the kind of the control message for the peer; -1: none. */
static int tick(void)
{
    struct rail_control c;

    uc_loss_tick(&loss, &rails);
    if (!uc_loss_control_next(&loss, &rails, &c))
        return -1;
    assert_int_equal(c.rail, 0);
    return c.kind;
}

static void answer(uint64_t sent)
{
    uc_loss_control_take(&loss, &rails,
                         &(struct rail_control){.kind = RAIL_CONTROL_SENT, .count = sent});
}

static void test_query(void **state)
{
    struct rail *r = rails.all[0];

    (void)state;
    assert_int_equal(tick(), RAIL_CONTROL_QUERY);
    /* Something has arrived since: there is no reason to ask. */
    r->arrived = 3;
    assert_int_equal(tick(), -1);
    assert_int_equal(tick(), RAIL_CONTROL_QUERY);
    /* Neither on RC, nor for a rail that is dropped. */
    r->pair.kind = QUEUE_PAIR_RC;
    assert_int_equal(tick(), -1);
    r->pair.kind = QUEUE_PAIR_UC;
    rails.lost[0].is_dropped = true;
    assert_int_equal(tick(), -1);
}

static void test_answer(void **state)
{
    struct rail_control c;

    (void)state;
    uc_loss_control_take(&loss, &rails, &(struct rail_control){.kind = RAIL_CONTROL_QUERY});
    assert_int_equal(sends, 1); /* the credit again, which the peer may be waiting for */
    assert_true(uc_loss_control_next(&loss, &rails, &c));
    assert_int_equal(c.kind, RAIL_CONTROL_SENT);
    assert_int_equal(c.count, 40);
    assert_false(uc_loss_control_next(&loss, &rails, &c));
}

static void test_lost(void **state)
{
    struct rail *r = rails.all[0];

    (void)state;
    r->arrived = 3;
    answer(5);
    tick();
    tick();
    assert_int_equal(r->failed.code, 0); /* they may still be on the way */
    tick();
    assert_int_equal(r->failed.code, ML_ERR_LINK);
    assert_string_equal(r->failed.text, "the link on tb0 port 1 towards rank 1 on host b has lost "
                                        "data: rank 1 on host b has sent 5 chunks, but only 3 have "
                                        "arrived");
}

static void test_late(void **state)
{
    struct rail *r = rails.all[0];

    (void)state;
    r->arrived = 3;
    answer(5);
    answer(9); /* the first answer is kept until its time is over */
    tick();
    tick();
    r->arrived = 5;
    tick();
    assert_int_equal(r->failed.code, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_query, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late, setup, teardown),
    };

    return cmocka_run_group_tests_name("uc_loss", tests, NULL, NULL);
}
