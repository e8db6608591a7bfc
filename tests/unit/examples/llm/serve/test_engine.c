/* SPDX-License-Identifier: MIT */
/* test_engine.c: the engine over a model that stands in for a real one: answers are what the model
 * would say to each prompt alone, whatever else runs, leaves or was computed before. */
#include "examples/llm/serve/engine.h"
#include "tests/unit/examples/llm/serve/fake_model.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rig {
    struct queue *queue;
    struct engine *engine;
};

static void rig_open(struct rig *r, struct fake model, uint32_t most)
{
    struct engine_config config = {.lead = fake_lead(), .tokenizer = (void *)fake_lead()};

    fake = model;
    fake_clear();
    r->queue = config.queue = queue_open(most, model.slots);
    assert_non_null(r->queue);
    r->engine = engine_start(&config);
    assert_non_null(r->engine);
}

static int rig_close(struct rig *r)
{
    int rc;

    queue_stop(r->queue, 0);
    rc = engine_join(r->engine);
    queue_free(r->queue);
    return rc;
}

static struct ticket *ask(struct rig *r, const char *prompt, uint32_t most, const char *stop)
{
    struct ticket *t = ticket_create();
    size_t n = strlen(prompt);

    t->order.prompt = calloc(n, sizeof(int32_t));
    for (size_t i = 0; i < n; i++)
        t->order.prompt[i] = (unsigned char)prompt[i];
    t->order.prompt_count = (uint32_t)n;
    t->order.tokens_most = most;
    t->order.stops = calloc(1, sizeof(char *));
    if (stop) {
        t->order.stops[0] = strdup(stop);
        t->order.stop_count = 1;
    }
    assert_int_equal(queue_put(r->queue, &t, 1), QUEUE_ACCEPTED);
    return t;
}

/* Waits for news of any ticket. */
static struct ticket *heard(struct rig *r)
{
    struct pollfd p = {queue_fd(r->queue), POLLIN, 0};
    struct ticket *t;

    while (!(t = queue_changed(r->queue)))
        assert_int_equal(poll(&p, 1, 20000), 1);
    return t;
}

/* Waits for the end of t, which is the only one that is listened to. */
static struct ticket_news hear_all(struct rig *r, struct ticket *t, char *text)
{
    struct ticket_news news;
    size_t length = 0;

    do {
        assert_ptr_equal(heard(r), t);
        queue_news(r->queue, t, &news);
        memcpy(text + length, news.text ? news.text : "", news.length);
        length += news.length;
        free(news.text);
    } while (news.end == TICKET_RUNS);
    text[length] = '\0';
    queue_leave(r->queue, t);
    return news;
}

static void answers_are_the_models(void **state)
{
    char text[512], expected[512], prompt[201];
    struct ticket_news news;
    struct rig r;

    (void)state;
    memset(prompt, 'p', 200);
    prompt[200] = '\0'; /* longer than a step */
    rig_open(&r, (struct fake){.slots = 2, .context = 512}, 4);
    for (int i = 0; i < 2; i++) {
        const char *question = i ? prompt : "hello";

        news = hear_all(&r, ask(&r, question, 40, NULL), text);
        fake_answer(question, 40, expected);
        assert_string_equal(text, expected);
        assert_int_equal(news.end, TICKET_LENGTH);
        assert_int_equal(news.tokens, 40);
        assert_int_equal(news.reused, 0);
    }
    assert_true(engine_is_ready(r.engine));
    assert_int_equal(rig_close(&r), 0);
    assert_int_equal(fake_ends(), 1);
}

static void an_end_and_a_stop_text_end_an_answer(void **state)
{
    char text[512], expected[512], stop[3] = "";
    struct ticket_news news;
    struct rig r;

    (void)state;
    rig_open(&r, (struct fake){.slots = 1, .context = 512, .end_after = 30}, 4);
    news = hear_all(&r, ask(&r, "hello", 400, NULL), text);
    fake_answer("hello", 25, expected); /* positions 5 to 29 */
    assert_string_equal(text, expected);
    assert_int_equal(news.end, TICKET_STOP);
    assert_int_equal(news.tokens, 25);
    memcpy(stop, expected + 9, 2);
    news = hear_all(&r, ask(&r, "hello", 400, stop), text);
    *strstr(expected, stop) = '\0';
    assert_string_equal(text, expected);
    assert_int_equal(news.end, TICKET_STOP);
    rig_close(&r);
}

static void the_beginning_of_a_prompt_is_computed_once(void **state)
{
    char text[512], expected[512], longer[600];
    struct ticket_news news;
    unsigned rows;
    struct rig r;

    (void)state;
    rig_open(&r, (struct fake){.slots = 2, .context = 512}, 4);
    hear_all(&r, ask(&r, "a prompt that comes again", 10, NULL), text);
    hear_all(&r, ask(&r, "another one", 10, NULL), expected);
    snprintf(longer, sizeof(longer), "a prompt that comes again%s and more", text);
    rows = fake_rows();
    news = hear_all(&r, ask(&r, longer, 10, NULL), text);
    fake_answer(longer, 10, expected);
    assert_string_equal(text, expected);
    assert_int_equal(news.reused, 25 + 9); /* the tenth letter was said, never computed */
    assert_int_equal(fake_rows() - rows, strlen(longer) - news.reused + 9);
    rows = fake_rows();
    news = hear_all(&r, ask(&r, longer, 10, NULL), text);
    assert_string_equal(text, expected);
    assert_int_equal(news.reused, strlen(longer) - 1);
    rig_close(&r);
}

static void several_are_answered_in_one_step(void **state)
{
    struct ticket *t[6];
    char texts[6][512] = {0}, prompt[32], expected[512];
    struct rig r;
    int left = 6;

    (void)state;
    rig_open(&r, (struct fake){.slots = 3, .context = 512, .step_us = 200}, 8);
    for (int i = 0; i < 6; i++) {
        snprintf(prompt, sizeof(prompt), "prompt %d", i);
        t[i] = ask(&r, prompt, 50 + 10 * (uint32_t)i, NULL);
        t[i]->owner = texts[i];
    }
    while (left) {
        struct ticket *of = heard(&r);
        struct ticket_news news;

        queue_news(r.queue, of, &news);
        if (news.length)
            strncat(of->owner, news.text, news.length);
        free(news.text);
        if (news.end != TICKET_RUNS) {
            queue_leave(r.queue, of);
            left--;
        }
    }
    for (int i = 0; i < 6; i++) {
        snprintf(prompt, sizeof(prompt), "prompt %d", i);
        fake_answer(prompt, 50 + 10 * (uint32_t)i, expected);
        assert_string_equal(texts[i], expected);
    }
    assert_int_equal(fake_most_slots(), 3);
    rig_close(&r);
}

static void a_client_that_leaves_frees_its_slot(void **state)
{
    char text[512], expected[512];
    struct ticket *gone;
    struct rig r;
    unsigned steps;

    (void)state;
    rig_open(&r, (struct fake){.slots = 1, .context = 4096, .step_us = 100}, 8);
    gone = ask(&r, "an answer that nobody reads", 4000, NULL);
    assert_ptr_equal(heard(&r), gone);
    queue_leave(r.queue, gone);
    steps = fake_steps();
    hear_all(&r, ask(&r, "next", 20, NULL), text);
    fake_answer("next", 20, expected);
    assert_string_equal(text, expected);
    assert_true(fake_steps() - steps < 200);
    rig_close(&r);
}

static void a_lost_rank_ends_everything(void **state)
{
    char text[512], reason[QUEUE_REASON_ROOM];
    struct ticket *running, *waiting;
    struct ticket_news news;
    struct rig r;

    (void)state;
    rig_open(&r, (struct fake){.slots = 1, .context = 512, .fail_at_step = 30, .step_us = 100}, 8);
    running = ask(&r, "first", 400, NULL);
    waiting = ask(&r, "second", 400, NULL);
    news = hear_all(&r, running, text);
    assert_int_equal(news.end, TICKET_FAILED);
    news = hear_all(&r, waiting, text);
    assert_int_equal(news.end, TICKET_FAILED);
    queue_reason(r.queue, reason);
    assert_string_equal(reason, "rank 1 on host b was killed by SIGKILL");
    assert_int_equal(rig_close(&r), ML_ERR_PEER);
    assert_int_equal(fake_ends(), 0);
}

/* What runs fails with the rank's name, and what waits is answered, in an empty slot. */
static void a_lost_rank_is_outlived(void **state)
{
    char text[512], expected[512], loss[QUEUE_REASON_ROOM];
    struct ticket *running, *waiting;
    struct rig r;

    (void)state;
    rig_open(
        &r,
        (struct fake){
            .slots = 1, .context = 512, .fail_at_step = 30, .step_us = 100, .is_elastic = true},
        8);
    running = ask(&r, "first", 400, NULL);
    waiting = ask(&r, "first and second", 40, NULL);
    assert_int_equal(hear_all(&r, running, text).end, TICKET_LOST);
    queue_loss(r.queue, loss);
    assert_string_equal(loss, "rank 1 on host b was killed by SIGKILL");
    assert_int_equal(hear_all(&r, waiting, text).end, TICKET_LENGTH);
    fake_answer("first and second", 40, expected);
    assert_string_equal(text, expected);
    queue_reason(r.queue, loss);
    assert_string_equal(loss, "");
    assert_int_equal(rig_close(&r), 0);
    assert_int_equal(fake_ends(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_the_models),
        cmocka_unit_test(an_end_and_a_stop_text_end_an_answer),
        cmocka_unit_test(the_beginning_of_a_prompt_is_computed_once),
        cmocka_unit_test(several_are_answered_in_one_step),
        cmocka_unit_test(a_client_that_leaves_frees_its_slot),
        cmocka_unit_test(a_lost_rank_ends_everything),
        cmocka_unit_test(a_lost_rank_is_outlived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
