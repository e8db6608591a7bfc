/* SPDX-License-Identifier: MIT */
/*
 * test_rail.c: one rail's slots and credit, and what becomes of it when chunks are lost, too many
 * or too long, and when the device refuses. The device is a mock that completes what the test says.
 */
#include "rdma/rail.h"

#include "rdma/verbs/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    COMPLETIONS = 64,
    DATA = 1 << 15,
    DIRECT = 1 << 14,
    CREDIT_EVERY = MEMORY_SLOTS / 4,
};

/* One of the two completion queues. */
struct mock_queue {
    struct ibv_cq cq;
    struct ibv_wc done[COMPLETIONS];
    int count, taken;
};

static struct mock_queue receives, sends;
static int receives_posted, send_error, receive_error;
static struct ibv_send_wr sent[COMPLETIONS]; /* all that was posted; their lists are gone */
static int sent_count, completed;            /* and how many of those the device has finished */
static struct rail *rail;

static int device_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    if (send_error)
        return send_error;
    assert_true(sent_count < COMPLETIONS);
    sent[sent_count] = *work;
    sent[sent_count++].sg_list = NULL;
    return 0;
}

static int device_receive(struct ibv_qp *qp, struct ibv_recv_wr *work, struct ibv_recv_wr **bad)
{
    (void)qp, (void)bad;
    if (receive_error)
        return receive_error;
    for (; work; work = work->next)
        receives_posted++;
    return 0;
}

static int device_poll(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    struct mock_queue *q = cq == &receives.cq ? &receives : &sends;
    int n = 0;

    for (; n < most && q->taken < q->count; n++)
        out[n] = q->done[q->taken++];
    return n;
}

static struct ibv_context context = {
    .ops = {.post_send = device_send, .post_recv = device_receive, .poll_cq = device_poll}};
static struct ibv_qp pair = {.context = &context};
static struct ibv_mr ring;
static struct port port = {.device = "tb0", .number = 1};

static int setup(void **state)
{
    (void)state;
    memset(&receives, 0, sizeof(receives));
    memset(&sends, 0, sizeof(sends));
    receives.cq.context = sends.cq.context = &context;
    receives_posted = send_error = receive_error = sent_count = completed = 0;
    rail = calloc(1, sizeof(*rail));
    assert_non_null(rail);
    rail->memory.bytes = calloc(1, MEMORY_SIZE);
    assert_non_null(rail->memory.bytes);
    rail->memory.region = &ring;
    rail->fit.port = &port;
    rail->sends = &sends.cq;
    rail->receives = &receives.cq;
    rail->pair = (struct queue_pair){.kind = QUEUE_PAIR_RC, .qp = &pair};
    rail->fit.peer = "rank 1 on host b";
    rail->room = MEMORY_SLOT;
    for (int i = 0; i + 1 < RAIL_BATCH; i++)
        rail->receive_work[i].next = &rail->receive_work[i + 1];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(rail->memory.bytes);
    free(rail);
    return 0;
}

static void complete(struct mock_queue *q, struct ibv_wc wc)
{
    if (q->taken == q->count)
        q->taken = q->count = 0;
    assert_true(q->count < COMPLETIONS);
    q->done[q->count++] = wc;
}

/* An immediate arrives with `size` bytes. */
static void arrive(unsigned consumed, unsigned index, uint32_t bits, uint32_t size)
{
    uint32_t imm = (consumed & 0xff) << 24 | (index & 0xff) << 16 | bits;

    rail->receives_posted++;
    complete(&receives,
             (struct ibv_wc){.status = IBV_WC_SUCCESS, .imm_data = htonl(imm), .byte_len = size});
}

/* The device has finished all that was posted. */
static void finish_sends(void)
{
    for (; completed < sent_count; completed++)
        complete(&sends, (struct ibv_wc){.status = IBV_WC_SUCCESS, .wr_id = sent[completed].wr_id});
}

static uint32_t imm_of(int i)
{
    assert_true(i < sent_count);
    return ntohl(sent[i].imm_data);
}

static void expect_failed(const char *text)
{
    int before = sent_count;

    assert_int_equal(rail->failed.code, ML_ERR_LINK);
    assert_non_null(strstr(rail->failed.text, text));
    /* Nothing moves on it any more. */
    arrive(0, (unsigned)rail->arrived, DATA, 1);
    assert_int_equal(rail_poll(rail), 0);
    assert_null(rail_slot(rail));
    assert_false(rail_announce(rail, &(struct rail_announcement){.size = 1, .serial = 1}));
    rail_repeat_credit(rail);
    rail->is_connected = true;
    rail_keepalive(rail);
    assert_int_equal(sent_count, before);
    assert_true(rail_is_flushed(rail)); /* nobody must wait for it */
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Chunks come in order, and each that is consumed is posted anew; the peer is told of every
 * fourth. */
static void test_arrivals(void **state)
{
    struct rail_chunk c;

    (void)state;
    assert_null(rail_next(rail, &c));
    for (unsigned i = 0; i < CREDIT_EVERY; i++)
        arrive(0, i, DATA | (i == 2 ? DIRECT : 0) | (100 + i), 10 * i);
    assert_true(rail_poll(rail) > 0);
    assert_int_equal(receives_posted, CREDIT_EVERY);
    for (unsigned i = 0; i < CREDIT_EVERY; i++) {
        assert_int_equal(sent_count, 0);
        assert_ptr_equal(rail_next(rail, &c), rail->memory.bytes + MEMORY_IN + i * MEMORY_SLOT);
        assert_int_equal(c.size, 10 * i);
        assert_int_equal(c.number, 100 + i);
        assert_int_equal(c.is_direct, i == 2);
        rail_release(rail);
    }
    assert_null(rail_next(rail, &c));
    assert_int_equal(sent_count, 1);
    assert_int_equal(imm_of(0), (uint32_t)CREDIT_EVERY << 24);
    assert_int_equal(rail_poll(rail), 0);
}

/* The index and the credit are bytes, and wrap. */
static void test_wrap(void **state)
{
    struct rail_chunk c;

    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        assert_non_null(rail_slot(rail));
        rail_post(rail, 8, i, NULL);
        assert_int_equal(imm_of(sent_count - 1) >> 16 & 0xff, i & 0xff);
        finish_sends();
        arrive(i + 1, i, DATA, 8); /* the peer has consumed ours, and sends one */
        assert_true(rail_poll(rail) > 0);
        assert_non_null(rail_next(rail, &c));
        rail_release(rail);
        finish_sends();
        assert_int_equal(rail->failed.code, 0);
        if (sent_count > COMPLETIONS / 2)
            sent_count = completed = 0;
    }
    assert_int_equal(rail->peer_taken, 600);
    assert_int_equal(rail->arrived, 600);
    assert_int_equal(imm_of(sent_count - 1) >> 24, 599 & 0xff); /* chunks bring the credit along */
}

static void test_lost_chunk(void **state)
{
    (void)state;
    arrive(0, 0, DATA, 8);
    arrive(0, 2, DATA, 8);
    rail_poll(rail);
    assert_int_equal(rail->arrived, 1);
    expect_failed("chunk 2 arrived on tb0 port 1 towards rank 1 on host b where 1 was expected: "
                  "data was lost on the way");
}

static void test_repeated_chunk(void **state)
{
    (void)state;
    arrive(0, 0, DATA, 8);
    arrive(0, 0, DATA, 8);
    rail_poll(rail);
    assert_int_equal(rail->arrived, 1);
    expect_failed("chunk 0 arrived");
}

/* A peer that sends more than it has credit for would overwrite what is not consumed yet. */
static void test_too_many(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= MEMORY_SLOTS; i++)
        arrive(0, i, DATA, 8);
    rail_poll(rail);
    assert_int_equal(rail->arrived, MEMORY_SLOTS);
    expect_failed("chunk 16 arrived");
}

static void test_too_long(void **state)
{
    (void)state;
    arrive(0, 0, DATA, MEMORY_SLOT);
    arrive(0, 1, DATA, MEMORY_SLOT + 1);
    rail_poll(rail);
    assert_int_equal(rail->arrived, 1);
    expect_failed("chunk 1 arrived");
}

/* A credit for chunks that were not sent would leave no slot free for ever. */
static void test_too_much_taken(void **state)
{
    (void)state;
    assert_non_null(rail_slot(rail));
    rail_post(rail, 8, 0, NULL);
    finish_sends();
    arrive(1, 0, DATA, 8);
    rail_poll(rail);
    assert_int_equal(rail->failed.code, 0);
    arrive(2, 1, DATA, 8);
    rail_poll(rail);
    assert_int_equal(rail->arrived, 1);
    expect_failed("credit for 2 chunks arrived on tb0 port 1 towards rank 1 on host b where 1 had "
                  "been sent: data was changed on the way");
}

/* Receives that fail do so because of the queue pair; the send that has failed says why. */
static void test_flushed(void **state)
{
    (void)state;
    arrive(0, 0, DATA, 8);
    rail->under_way = 1;
    rail->receives_posted++;
    complete(&receives, (struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR});
    complete(&sends, (struct ibv_wc){.status = IBV_WC_RETRY_EXC_ERR});
    assert_true(rail_poll(rail) > 0);
    assert_int_equal(rail->arrived, 1); /* what came before counts */
    expect_failed("tb0 port 1");
    assert_null(strstr(rail->failed.text, ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR)));
}

static void test_no_receive(void **state)
{
    (void)state;
    receive_error = ENOMEM;
    arrive(0, 0, DATA, 8);
    assert_true(rail_poll(rail) > 0);
    assert_true(rail->failed.code != 0);
    assert_non_null(strstr(rail->failed.text, strerror(ENOMEM)));
}

/* --- sending ---------------------------------------------------------------------------------- */

/* A slot is free once the device has sent it, and the peer has consumed it. */
static void test_slots(void **state)
{
    (void)state;
    for (int i = 0; i < MEMORY_SLOTS; i++) {
        assert_ptr_equal(rail_slot(rail), rail->memory.bytes + MEMORY_OUT + i * MEMORY_SLOT);
        rail_post(rail, 8, (uint64_t)i, NULL);
    }
    assert_null(rail_slot(rail));
    finish_sends();
    assert_null(rail_slot(rail));
    assert_true(rail_is_flushed(rail));
    arrive(1, 0, 0, 0); /* the peer has consumed one */
    rail_poll(rail);
    assert_ptr_equal(rail_slot(rail), rail->memory.bytes + MEMORY_OUT);
    rail_post(rail, 8, MEMORY_SLOTS, NULL);
    assert_null(rail_slot(rail));
    assert_false(rail_is_flushed(rail));
    arrive(1, 0, 0, 0); /* the same again is nothing new */
    rail_poll(rail);
    assert_null(rail_slot(rail));
}

static void test_post_refused(void **state)
{
    (void)state;
    assert_non_null(rail_slot(rail));
    send_error = ENOMEM;
    rail_post(rail, 8, 0, NULL);
    send_error = 0;
    assert_true(rail->failed.code != 0);
    assert_non_null(strstr(rail->failed.text, strerror(ENOMEM)));
    assert_int_equal(rail->under_way, 0);
    assert_null(rail_slot(rail));
    assert_true(rail_is_flushed(rail));
}

/* Memory of the user is given back once the device has read it, whatever the number's wrap. */
static void test_has_read(void **state)
{
    static char bytes[8];
    const struct rail_way way = {.from = bytes, .key = 1};
    struct rail_chunk c;

    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        assert_non_null(rail_slot(rail));
        rail_post(rail, 8, RAIL_NUMBER_MASK + i, i ? &way : NULL); /* the second's number is 0 */
    }
    assert_ptr_equal(rail_posted(rail, 1, &c), bytes);
    assert_int_equal(c.number, 0);
    assert_ptr_equal(rail_posted(rail, 0, &c), rail->memory.bytes + MEMORY_OUT);
    assert_true(rail_has_read(rail, 0, RAIL_NUMBER_MASK + 1)); /* it is not below that */
    assert_false(rail_has_read(rail, 0, RAIL_NUMBER_MASK + 2));
    assert_true(rail_has_read(rail, 2, RAIL_NUMBER_MASK + 2));
    finish_sends();
    assert_true(rail_has_read(rail, 0, RAIL_NUMBER_MASK + 2));
}

/* --- announcements and keep-alives ------------------------------------------------------------ */

static void test_announced(void **state)
{
    struct rail_announcement a = {.address = 4096, .size = 100, .serial = 6};
    unsigned char *places = rail->memory.bytes + MEMORY_ANNOUNCED;

    (void)state;
    memcpy(places + 2 * MEMORY_ANNOUNCEMENT, &a, sizeof(a));
    assert_null(rail_announced(rail, 6)); /* nobody has said that it is there */
    arrive(0, 0, DIRECT | MEMORY_ANNOUNCEMENTS, 0);
    arrive(0, 0, DIRECT | RAIL_NUMBER_MASK, 0); /* no such places */
    arrive(0, 0, DIRECT | 1, 0);                /* one of size 0 */
    rail_poll(rail);
    assert_int_equal(rail->failed.code, 0);
    assert_null(rail_announced(rail, 1));
    assert_null(rail_announced(rail, 6));
    arrive(0, 0, DIRECT | 2, 0);
    rail_poll(rail);
    assert_non_null(rail_announced(rail, 6));
    assert_int_equal(rail_announced(rail, 6)->size, 100);
    assert_null(rail_announced(rail, 2)); /* the same place, for another message */
    assert_null(rail_announced(rail, 10));
}

/* The device reads the place later, so there is one at a time. */
static void test_announce(void **state)
{
    const struct rail_announcement a = {.address = 64, .size = 1, .serial = 5};

    (void)state;
    assert_true(rail_announce(rail, &a));
    assert_int_equal(imm_of(0), DIRECT | 1);
    assert_false(rail_announce(rail, &a));
    finish_sends();
    assert_true(rail_announce(rail, &a));
    finish_sends();
    rail->pair.max_inline = MEMORY_ANNOUNCEMENT; /* then it goes along, and none has to wait */
    assert_true(rail_announce(rail, &a));
    assert_true(rail_announce(rail, &a));
    assert_true(sent[sent_count - 1].send_flags & IBV_SEND_INLINE);
}

static void test_keepalive(void **state)
{
    (void)state;
    rail_keepalive(rail);
    assert_int_equal(sent_count, 0); /* there is nobody yet */
    rail->is_connected = true;
    rail_keepalive(rail);
    assert_int_equal(sent_count, 1);
    rail_keepalive(rail);
    assert_int_equal(sent_count, 1); /* the first is still under way */
    finish_sends();
    rail_keepalive(rail);
    assert_int_equal(sent_count, 2);
    complete(&sends, (struct ibv_wc){.status = IBV_WC_RETRY_EXC_ERR});
    rail_keepalive(rail);
    expect_failed("tb0 port 1");
}

/* The reserved places of the queue take the credit. While even those are full, it waits. */
static void test_credit_waits(void **state)
{
    struct rail_chunk c;

    (void)state;
    rail->under_way = QUEUE_PAIR_SENDS;
    for (unsigned i = 0; i < CREDIT_EVERY; i++)
        arrive(0, i, DATA, 8);
    rail_poll(rail);
    for (unsigned i = 0; i < CREDIT_EVERY; i++) {
        assert_non_null(rail_next(rail, &c));
        rail_release(rail);
    }
    assert_int_equal(sent_count, 0);
    rail->under_way = QUEUE_PAIR_SENDS - 1;
    rail_poll(rail);
    assert_int_equal(sent_count, 1);
    assert_int_equal(imm_of(0), (uint32_t)CREDIT_EVERY << 24);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_arrivals),       TEST(test_wrap),         TEST(test_lost_chunk),
        TEST(test_repeated_chunk), TEST(test_too_many),     TEST(test_too_long),
        TEST(test_too_much_taken), TEST(test_flushed),      TEST(test_no_receive),
        TEST(test_slots),          TEST(test_post_refused), TEST(test_has_read),
        TEST(test_announced),      TEST(test_announce),     TEST(test_keepalive),
        TEST(test_credit_waits),
    };

    return cmocka_run_group_tests_name("rail", tests, NULL, NULL);
}
