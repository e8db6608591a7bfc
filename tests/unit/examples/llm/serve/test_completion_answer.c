/* SPDX-License-Identifier: MIT */
/* test_completion_answer.c: the JSON texts that clients get. */
#include "examples/llm/serve/completion_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1000000000LL

static const struct answer_head chat = {true, 0x2a, 1700000000, "tiny", 5};
static const struct answer_head text = {false, 0x2a, 1700000000, "tiny", 5};
static const struct ticket_news news = {
    .end = TICKET_LENGTH,
    .tokens = 5,
    .reused = 3,
    .put_ns = SECOND,
    .taken_ns = 2 * SECOND,
    .first_ns = 3 * SECOND,
    .last_ns = 5 * SECOND,
};

static void same(char *got, const char *expected)
{
    assert_string_equal(got, expected);
    free(got);
}

#define USAGE                                                                                      \
    "\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":5,\"total_tokens\":10,"                  \
    "\"prompt_tokens_details\":{\"cached_tokens\":3}}"
#define TIMING                                                                                     \
    "\"timing\":{\"seconds\":4.0,\"tokens_per_sec\":2.0,\"queued_seconds\":1.0,"                   \
    "\"first_token_seconds\":2.0}"
#define CHAT(object)                                                                               \
    "{\"id\":\"chatcmpl-000000000000002a\",\"object\":\"" object                                   \
    "\",\"created\":1700000000,\"model\":\"tiny\","
#define TEXT                                                                                       \
    "{\"id\":\"cmpl-000000000000002a\",\"object\":\"text_completion\",\"created\":1700000000,"     \
    "\"model\":\"tiny\","

static void whole_answers(void **state)
{
    const struct answer_choice one = {"hi\n", 3, NULL, TICKET_LENGTH};
    const struct answer_choice two[] = {{"", 0, NULL, TICKET_STOP}, {"b", 1, NULL, TICKET_LENGTH}};

    (void)state;
    same(answer_whole(&chat, &one, 1, &news),
         CHAT("chat.completion") "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                                 "\"content\":\"hi\\n\"},\"logprobs\":null,"
                                 "\"finish_reason\":\"length\"}]," USAGE "," TIMING "}");
    same(answer_whole(&text, two, 2, &news),
         TEXT "\"choices\":[{\"index\":0,\"text\":\"\",\"logprobs\":null,"
              "\"finish_reason\":\"stop\"},{\"index\":1,\"text\":\"b\",\"logprobs\":null,"
              "\"finish_reason\":\"length\"}]," USAGE "," TIMING "}");
}

static void chunks_of_a_stream(void **state)
{
    (void)state;
    same(answer_first(&chat, 0),
         CHAT("chat.completion.chunk") "\"choices\":[{\"index\":0,\"delta\":{\"role\":"
                                       "\"assistant\",\"content\":\"\"},\"logprobs\":null,"
                                       "\"finish_reason\":null}]}");
    same(answer_chunk(&chat, 1, "a", 1, NULL),
         CHAT("chat.completion.chunk") "\"choices\":[{\"index\":1,\"delta\":{\"content\":\"a\"},"
                                       "\"logprobs\":null,\"finish_reason\":null}]}");
    same(answer_chunk(&text, 0, "a", 1, NULL),
         TEXT "\"choices\":[{\"index\":0,\"text\":\"a\",\"logprobs\":"
              "null,\"finish_reason\":null}]}");
    same(answer_last(&chat, 2, NULL, &news),
         CHAT("chat.completion.chunk") "\"choices\":[{\"index\":2,\"delta\":{},\"logprobs\":null,"
                                       "\"finish_reason\":\"length\"}]," TIMING "}");
    same(answer_usage(&text, &news), TEXT "\"choices\":[]," USAGE "}");
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    char *got = answer_chunk(&text, 0,
                             "a\xff\xc3\xa9\xe2\x82"
                             "b\0c",
                             9, NULL);

    (void)state;
    assert_non_null(strstr(got, "\"text\":\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
                                "b\\u0000c\""));
    free(got);
}

static void errors(void **state)
{
    (void)state;
    same(answer_error(429, "the queue is full", NULL),
         "{\"error\":{\"message\":\"the queue is full\",\"type\":\"rate_limit_error\","
         "\"param\":null,\"code\":429}}");
    same(answer_error(400, "n must be 1", "n"),
         "{\"error\":{\"message\":\"n must be 1\",\"type\":\"invalid_request_error\","
         "\"param\":\"n\",\"code\":400}}");
    same(
        answer_too_long(9, 8, "prompt"),
        "{\"error\":{\"message\":\"the prompt of at least 9 tokens exceeds the context of 8, which "
        "holds prompt and answer\",\"type\":\"exceed_context_size_error\",\"param\":"
        "\"prompt\",\"code\":400,\"n_prompt_tokens\":9,\"n_ctx\":8}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(chunks_of_a_stream),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test(errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
