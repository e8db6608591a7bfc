/* SPDX-License-Identifier: MIT */
/* test_completion_request.c: bodies that are read, and those that are refused, with the sentence
 * and the member. */
#include "examples/llm/serve/completion_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define USER "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"

#define PROMPT "prompt must be a text, a list of the numbers of tokens, or a list of such"

static const struct {
    bool is_chat;
    const char *body, *sentence, *param; /* sentence NULL: it is read */
} bodies[] = {
    {true, USER "}", NULL, NULL},
    {true, USER ",\"unknown\":{\"a\":[1]},\"user\":\"me\"}", NULL, NULL},
    {true, USER ",\"temperature\":null,\"stop\":null,\"tools\":[],\"n\":1}", NULL, NULL},
    {true, USER ",\"logprobs\":false,\"presence_penalty\":0.0,\"tool_choice\":\"auto\"}", NULL,
     NULL},
    {true, USER ",\"response_format\":{\"type\":\"text\"}}", NULL, NULL},
    {true,
     "{\"messages\":[{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]}",
     NULL, NULL},
    {false, "{\"prompt\":\"x\"}", NULL, NULL},
    {false, "{\"prompt\":[\"x\"],\"stop\":[\"a\",\"b\"],\"logprobs\":null}", NULL, NULL},

    {true, "", "the body is not JSON: line 1 column 0: '[' or '{' expected", NULL},
    {true, "{", "the body is not JSON: line 1 column 1: string or '}' expected", NULL},
    {true, "{\"messages\":\"\\u0000\"}", "\\u0000 is not allowed", NULL},
    {true, "[]", "the body must be a JSON object", NULL},
    {true, "{}", "messages is missing", "messages"},
    {false, "{}", "prompt is missing", "prompt"},
    {false, "{\"messages\":[]}", "prompt is missing", "prompt"},
    {true, "{\"messages\":[]}", "messages must be a list of at least one message", "messages"},
    {true, "{\"messages\":{}}", "messages must be a list of at least one message", "messages"},
    {true, "{\"messages\":[1]}", "messages[0] must be an object with \"role\"", "messages"},
    {true, "{\"messages\":[{\"role\":\"tool\",\"content\":\"\"}]}",
     "messages[0].role must be system, user or assistant, not 'tool'", "messages"},
    {true, "{\"messages\":[{\"role\":\"user\"}]}", "messages[0].content must be a text",
     "messages"},
    {true, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
     "messages[0].content[0] must be {\"type\": \"text\", \"text\": …}", "messages"},
    {true, "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{}]}]}",
     "messages[0].tool_calls is not supported: this server calls no tools", "messages"},
    {false, "{\"prompt\":[\"a\",\"b\"],\"n\":64,\"best_of\":64}", NULL, NULL},
    {false, "{\"prompt\":[1,2],\"n\":128}", NULL, NULL},
    {false, "{\"prompt\":[[1,2],\"a\",[0]]}", NULL, NULL},
    {false, "{\"prompt\":[]}", PROMPT, "prompt"},
    {false, "{\"prompt\":{}}", PROMPT, "prompt"},
    {false, "{\"prompt\":7}", PROMPT, "prompt"},
    {false, "{\"prompt\":[1,\"a\"]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[\"a\",1]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[-1]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[2147483648]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[1.5]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[[]]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[[\"a\"]]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[[[1]]]}", PROMPT, "prompt"},
    {false, "{\"prompt\":[\"a\",\"b\"],\"n\":65}",
     "n of 65 for each of 2 prompts is more than 128 answers", "n"},
    {false, "{\"prompt\":\"x\",\"n\":2,\"best_of\":3}",
     "best_of is not supported unless it equals n", "best_of"},
    {true, USER ",\"max_tokens\":0}", "max_tokens must be a whole number from 1 to 2147483647",
     "max_tokens"},
    {true, USER ",\"max_tokens\":1.5}", "max_tokens must be a whole number", "max_tokens"},
    {true, USER ",\"max_completion_tokens\":\"9\"}", "max_completion_tokens must be a whole number",
     "max_completion_tokens"},
    {true, USER ",\"temperature\":2.5}", "temperature must be a number from 0 to 2", "temperature"},
    {true, USER ",\"temperature\":\"1\"}", "temperature must be a number", "temperature"},
    {true, USER ",\"top_p\":-1}", "top_p must be a number from 0 to 1", "top_p"},
    {true, USER ",\"top_k\":-2}", "top_k must be a whole number from -1", "top_k"},
    {true, USER ",\"seed\":1.5}", "seed must be a whole number", "seed"},
    {true, USER ",\"stream\":1}", "stream must be true or false", "stream"},
    {true, USER ",\"stream_options\":true}", "stream_options must be an object", "stream_options"},
    {true, USER ",\"stop\":[1]}", "stop must be a text, or a list of texts", "stop"},
    {true,
     USER ",\"stop\":[\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\","
          "\"1\",\"1\","
          "\"1\",\"1\",\"1\"]}",
     "stop has 17 texts; 16 are the most", "stop"},
    {true, USER ",\"n\":128}", NULL, NULL},
    {true, USER ",\"n\":129}", "n must be a whole number from 1 to 128", "n"},
    {true, USER ",\"n\":0}", "n must be a whole number from 1 to 128", "n"},
    {true, USER ",\"tools\":[{}]}", "tools is not supported", "tools"},
    {true, USER ",\"presence_penalty\":2.1}", "presence_penalty must be a number from -2 to 2",
     "presence_penalty"},
    {true, USER ",\"frequency_penalty\":\"1\"}", "frequency_penalty must be a number from -2 to 2",
     "frequency_penalty"},
    {true, USER ",\"logprobs\":true,\"top_logprobs\":20}", NULL, NULL},
    {true, USER ",\"top_logprobs\":0}", NULL, NULL},
    {false, "{\"prompt\":\"x\",\"logprobs\":3}", NULL, NULL},
    {true, USER ",\"logprobs\":3}", "logprobs must be true or false", "logprobs"},
    {true, USER ",\"top_logprobs\":3}", "top_logprobs needs \"logprobs\": true", "top_logprobs"},
    {true, USER ",\"logprobs\":true,\"top_logprobs\":21}",
     "top_logprobs must be a whole number from 0 to 20", "top_logprobs"},
    {false, "{\"prompt\":\"x\",\"logprobs\":21}", "logprobs must be a whole number from 0 to 20",
     "logprobs"},
    {false, "{\"prompt\":\"x\",\"echo\":true}", "echo is not supported", "echo"},
    {true, USER ",\"logit_bias\":{\"1\":5}}", "logit_bias is not supported", "logit_bias"},
    {true, USER ",\"response_format\":{\"type\":\"json_object\"}}", NULL, NULL},
    {true, USER ",\"response_format\":{\"type\":\"json_schema\"}}",
     "response_format.type 'json_schema' is not supported; text and json_object are",
     "response_format"},
    {true, USER ",\"response_format\":\"json\"}", "response_format must be an object with \"type\"",
     "response_format"},
    {true, USER ",\"modalities\":[\"text\"],\"min_p\":0,\"repeat_penalty\":1.0}", NULL, NULL},
    {true, USER ",\"modalities\":[\"audio\"]}", "modalities must be [\"text\"]", "modalities"},
    {true, USER ",\"reasoning_effort\":\"low\"}", "reasoning_effort is not supported",
     "reasoning_effort"},
    {true, USER ",\"min_p\":0.1}", "min_p is not supported", "min_p"},
    {true, USER ",\"repeat_penalty\":1.1}", "repeat_penalty is not supported", "repeat_penalty"},
    {true, USER ",\"guided_json\":{\"a\":1}}", "guided_json is not supported", "guided_json"},
    {true, USER ",\"chat_template_kwargs\":{\"enable_thinking\":1}}",
     "chat_template_kwargs.enable_thinking must be true or false",
     "chat_template_kwargs.enable_thinking"},
};

static void each_body_is_read_or_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct completion_problem problem = {"", NULL};
        struct completion_request r;
        int rc = completion_request_read(&r, bodies[i].is_chat, bodies[i].body,
                                         strlen(bodies[i].body), &problem);

        if (!rc)
            completion_request_free(&r);
        if (!rc != !bodies[i].sentence || (rc && !strstr(problem.text, bodies[i].sentence)))
            fail_msg("%s: %d, %s", bodies[i].body, rc, problem.text);
        if (bodies[i].param)
            assert_string_equal(problem.param, bodies[i].param);
        else
            assert_null(problem.param);
    }
}

static void too_many_prompts_are_refused(void **state)
{
    struct completion_problem problem = {"", NULL};
    struct completion_request r;
    char body[2000] = "{\"prompt\":[";

    (void)state;
    for (int i = 0; i < 128; i++)
        strcat(body, i ? ",\"a\"" : "\"a\"");
    strcat(body, "]}");
    assert_int_equal(completion_request_read(&r, false, body, strlen(body), &problem), 0);
    assert_int_equal(r.prompt_count, 128);
    completion_request_free(&r);
    strcpy(strrchr(body, ']'), ",\"a\"]}");
    assert_int_equal(completion_request_read(&r, false, body, strlen(body), &problem), -1);
    assert_string_equal(problem.text, "prompt has 129 entries; 128 are the most");
    /* As tokens there may be more of them. */
    for (char *c = body; (c = strstr(c, "\"a\"")); c++)
        memcpy(c, "777", 3);
    assert_int_equal(completion_request_read(&r, false, body, strlen(body), &problem), 0);
    assert_int_equal(r.prompt_count, 1);
    assert_null(r.prompts[0].text);
    assert_int_equal(json_array_size(r.prompts[0].tokens), 129);
    completion_request_free(&r);
}

static void the_values_are_those_of_the_body(void **state)
{
    static const char body[] =
        "{\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"bc\"}]}],"
        "\"max_completion_tokens\":7,\"temperature\":0.5,\"top_p\":0,\"top_k\":20,\"seed\":-3,"
        "\"stop\":[\"X\",\"\",\"YZ\"],\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"chat_template_kwargs\":{\"enable_thinking\":false}}";
    struct completion_problem problem;
    struct completion_request r;

    (void)state;
    assert_int_equal(completion_request_read(&r, true, body, strlen(body), &problem), 0);
    assert_int_equal(r.message_count, 2);
    assert_string_equal(r.messages[0].role, "system");
    assert_string_equal(r.messages[0].content, "be brief");
    assert_string_equal(r.messages[1].content, "abc");
    assert_int_equal(r.tokens_most, 7);
    assert_true(r.sampling.temperature == 0.5);
    assert_true(r.sampling.top_p > 0 && r.sampling.top_p < 1e-6); /* the best token alone */
    assert_int_equal(r.sampling.top_k, 20);
    assert_true(r.has_seed && r.seed == (uint64_t)-3);
    assert_int_equal(r.stop_count, 2);
    assert_string_equal(r.stops[1], "YZ");
    assert_true(r.stream && r.include_usage);
    assert_int_equal(r.thinking, THINKING_OFF);
    completion_request_free(&r);
    assert_int_equal(completion_request_read(&r, false, "{\"prompt\":\"p\"}", 14, &problem), 0);
    assert_int_equal(r.prompt_count, 1);
    assert_string_equal(r.prompts[0].text, "p");
    assert_int_equal(r.choices, 1);
    assert_int_equal(r.tokens_most, 0);
    assert_true(r.sampling.temperature == 1 && r.sampling.top_p == 1);
    assert_false(r.stream || r.has_seed);
    completion_request_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_body_is_read_or_refused_in_words),
        cmocka_unit_test(too_many_prompts_are_refused),
        cmocka_unit_test(the_values_are_those_of_the_body),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
