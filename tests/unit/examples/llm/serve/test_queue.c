/* SPDX-License-Identifier: MIT */
/* test_queue.c: what fits into the queue, what each side learns, and who frees a ticket. */
#include "examples/llm/serve/queue.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_readable(struct queue *q)
{
    struct pollfd p = {queue_fd(q), POLLIN, 0};

    return poll(&p, 1, 0) == 1;
}

static struct queue *queue_made(uint32_t most, uint32_t slots)
{
    struct queue *q = queue_open(most, slots);

    assert_non_null(q);
    return q;
}

static struct ticket *put(struct queue *q, enum queue_refusal expected)
{
    struct ticket *t = ticket_create();

    assert_non_null(t);
    assert_int_equal(queue_put(q, &t, 1), expected);
    if (!expected)
        return t;
    ticket_free(t);
    return NULL;
}

static void as_many_wait_as_were_asked_for(void **state)
{
    struct queue *q = queue_made(2, 1);
    struct ticket *t[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        t[i] = put(q, QUEUE_ACCEPTED); /* one for the slot, two that wait */
    put(q, QUEUE_FULL);
    assert_int_equal(queue_size(q), 2);
    assert_int_equal(queue_running(q), 1);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(queue_take(q, 0), t[i]);
        queue_end(q, t[i], TICKET_STOP);
        assert_int_equal(queue_size(q), i < 1 ? 1 : 0);
        assert_ptr_equal(queue_changed(q), t[i]);
        queue_leave(q, t[i]);
    }
    assert_null(queue_take(q, 1));
    queue_free(q);
}

static void tickets_of_one_request_are_accepted_together(void **state)
{
    struct queue *q = queue_made(2, 1);
    struct ticket *all[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        all[i] = ticket_create();
    assert_int_equal(queue_put(q, all, 4), QUEUE_FULL);
    assert_int_equal(queue_put(q, all, 2), QUEUE_ACCEPTED);
    assert_int_equal(queue_put(q, all + 2, 2), QUEUE_FULL);
    assert_int_equal(queue_size(q), 1);
    assert_int_equal(queue_put(q, all + 2, 1), QUEUE_ACCEPTED);
    ticket_free(all[3]);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(queue_take(q, 0), all[i]);
        queue_end(q, all[i], TICKET_STOP);
        queue_leave(q, all[i]);
    }
    queue_free(q);
}

static void a_client_that_leaves_the_queue_makes_room(void **state)
{
    struct queue *q = queue_made(2, 1);
    struct ticket *first = put(q, 0), *middle = put(q, 0), *last = put(q, 0), *more;

    (void)state;
    queue_leave(q, middle);
    more = put(q, QUEUE_ACCEPTED);
    put(q, QUEUE_FULL);
    queue_leave(q, last);
    assert_ptr_equal(queue_take(q, 0), first);
    assert_ptr_equal(queue_take(q, 0), more);
    queue_leave(q, first);
    assert_true(ticket_is_left(q, first));
    assert_false(ticket_is_left(q, more));
    assert_true(queue_add(q, first, "x", 1)); /* heard by nobody */
    assert_false(is_readable(q));
    queue_end(q, first, TICKET_FAILED);
    queue_end(q, more, TICKET_STOP);
    queue_leave(q, more);
    queue_free(q);
}

static void text_comes_back_in_pieces(void **state)
{
    struct queue *q = queue_made(2, 2);
    struct ticket *a = put(q, 0), *b = put(q, 0);
    struct ticket_news news;

    (void)state;
    queue_take(q, 0);
    queue_take(q, 0);
    assert_false(is_readable(q));
    queue_begin(q, a, 7);
    queue_count(q, a);
    queue_add(q, a, "ab", 2);
    queue_count(q, b);
    queue_add(q, b, "x", 1);
    queue_count(q, a);
    queue_add(q, a, "c", 1);
    assert_true(is_readable(q));
    assert_ptr_equal(queue_changed(q), a);
    queue_news(q, a, &news);
    assert_int_equal(news.length, 3);
    assert_memory_equal(news.text, "abc", 3);
    assert_int_equal(news.tokens, 2);
    assert_int_equal(news.reused, 7);
    assert_int_equal(news.end, TICKET_RUNS);
    assert_true(news.put_ns <= news.taken_ns && news.taken_ns <= news.first_ns);
    free(news.text);
    assert_true(is_readable(q)); /* b */
    queue_end(q, a, TICKET_LENGTH);
    assert_ptr_equal(queue_changed(q), b);
    assert_ptr_equal(queue_changed(q), a);
    queue_news(q, a, &news);
    assert_null(news.text);
    assert_int_equal(news.end, TICKET_LENGTH);
    queue_leave(q, a);
    assert_null(queue_changed(q));
    assert_false(is_readable(q));
    queue_leave(q, b);
    queue_end(q, b, TICKET_FAILED);
    queue_free(q);
}

static void a_closed_queue_has_told_everyone(void **state)
{
    struct queue *q = queue_made(4, 1);
    struct ticket *runs = put(q, 0), *a = put(q, 0), *b = put(q, 0);
    char reason[QUEUE_REASON_ROOM] = "";
    struct ticket_news news;

    (void)state;
    queue_reason(q, reason);
    assert_string_equal(reason, "");
    assert_ptr_equal(queue_take(q, 0), runs);
    queue_refuse(q, "rank 1 is lost");
    put(q, QUEUE_CLOSED);
    queue_end(q, runs, TICKET_FAILED);
    assert_ptr_equal(queue_changed(q), runs);
    queue_reason(q, reason); /* there before the first one fails */
    assert_string_equal(reason, "rank 1 is lost");
    queue_leave(q, runs);
    assert_false(queue_is_closed(q));
    queue_close(q);
    assert_true(queue_is_closed(q));
    assert_ptr_equal(queue_changed(q), a);
    queue_news(q, a, &news);
    assert_int_equal(news.end, TICKET_FAILED);
    queue_leave(q, a);
    queue_leave(q, b);
    assert_null(queue_changed(q));
    queue_free(q);
}

static void a_stop_waits_for_what_runs_within_the_grace(void **state)
{
    struct queue *q = queue_made(4, 1);
    struct ticket *a = put(q, 0);
    char reason[QUEUE_REASON_ROOM];

    (void)state;
    assert_false(queue_is_stopping(q));
    queue_stop(q, 60000);
    assert_false(queue_is_stopping(q));
    put(q, QUEUE_CLOSED);
    queue_reason(q, reason);
    assert_string_equal(reason, "the server is stopping");
    assert_ptr_equal(queue_take(q, 60000), a);
    queue_end(q, a, TICKET_STOP);
    assert_true(queue_is_stopping(q));
    assert_null(queue_take(q, 60000)); /* at once */
    queue_leave(q, a);
    queue_free(q);
    q = queue_made(4, 1);
    a = put(q, 0);
    queue_stop(q, 0);
    assert_true(queue_is_stopping(q));
    queue_leave(q, a);
    queue_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_wait_as_were_asked_for),
        cmocka_unit_test(tickets_of_one_request_are_accepted_together),
        cmocka_unit_test(a_client_that_leaves_the_queue_makes_room),
        cmocka_unit_test(text_comes_back_in_pieces),
        cmocka_unit_test(a_closed_queue_has_told_everyone),
        cmocka_unit_test(a_stop_waits_for_what_runs_within_the_grace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
