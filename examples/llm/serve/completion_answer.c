/* SPDX-License-Identifier: MIT */
#include "completion_answer.h"

#include "../text/characters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *answer_text(const char *text, size_t length)
{
    size_t size = 0;
    char *plain = characters_mend(text, length, &size);
    json_t *value = plain ? json_stringn(plain, size) : NULL;

    free(plain);
    return value;
}

static char *dump(json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

    json_decref(value);
    return text;
}

static json_t *head_json(const struct answer_head *head, bool is_chunk)
{
    const char *object = "text_completion";
    char id[32];

    snprintf(id, sizeof(id), "%s-%016" PRIx64, head->is_chat ? "chatcmpl" : "cmpl", head->id);
    if (head->is_chat)
        object = is_chunk ? "chat.completion.chunk" : "chat.completion";
    return json_pack("{s:s, s:s, s:I, s:s}", "id", id, "object", object, "created",
                     (json_int_t)head->created, "model", head->model);
}

static json_t *usage_json(const struct answer_head *head, const struct ticket_news *news)
{
    return json_pack("{s:I, s:I, s:I, s:{s:I}}", "prompt_tokens", (json_int_t)head->prompt_count,
                     "completion_tokens", (json_int_t)news->tokens, "total_tokens",
                     (json_int_t)head->prompt_count + news->tokens, "prompt_tokens_details",
                     "cached_tokens", (json_int_t)news->reused);
}

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return from_ns && to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* seconds: from the request to its last token; tokens_per_sec: of the answer alone, without the
 * time in the queue and that for the prompt. */
static json_t *timing_json(const struct ticket_news *news)
{
    double answering = seconds_between(news->first_ns, news->last_ns);
    double first = seconds_between(news->taken_ns, news->first_ns);
    double rate = 0;

    if (news->tokens > 1 && answering > 0)
        rate = (news->tokens - 1) / answering;
    else if (news->tokens && first > 0)
        rate = news->tokens / first;
    return json_pack("{s:f, s:f, s:f, s:f}", "seconds",
                     seconds_between(news->put_ns, news->last_ns), "tokens_per_sec", rate,
                     "queued_seconds", seconds_between(news->put_ns, news->taken_ns),
                     "first_token_seconds", seconds_between(news->put_ns, news->first_ns));
}

static json_t *finish_json(enum ticket_end end)
{
    if (end == TICKET_RUNS)
        return json_null();
    return json_string(end == TICKET_LENGTH ? "length" : "stop");
}

/* `content` is taken. */
static json_t *choice_json(uint32_t index, const char *name, json_t *content, json_t *logprobs,
                           enum ticket_end end)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "index", (json_int_t)index, name, content, "logprobs",
                     logprobs ? logprobs : json_null(), "finish_reason", finish_json(end));
}

char *answer_whole(const struct answer_head *head, const struct answer_choice *choices,
                   uint32_t count, const struct ticket_news *all)
{
    json_t *answer = head_json(head, false), *list = json_array();

    for (uint32_t i = 0; i < count; i++) {
        json_t *content = answer_text(choices[i].text, choices[i].length);

        if (head->is_chat)
            content = json_pack("{s:s, s:o}", "role", "assistant", "content", content);
        json_array_append_new(list, choice_json(i, head->is_chat ? "message" : "text", content,
                                                choices[i].logprobs, choices[i].end));
    }
    json_object_set_new(answer, "choices", list);
    json_object_set_new(answer, "usage", usage_json(head, all));
    json_object_set_new(answer, "timing", timing_json(all));
    return dump(answer);
}

/* A chunk with one choice. `content` is taken: a chat's delta, or text. */
static json_t *chunk_json(const struct answer_head *head, uint32_t index, json_t *content,
                          json_t *logprobs, enum ticket_end end)
{
    json_t *chunk = head_json(head, true);
    const char *name = head->is_chat ? "delta" : "text";

    json_object_set_new(chunk, "choices",
                        json_pack("[o]", choice_json(index, name, content, logprobs, end)));
    return chunk;
}

char *answer_first(const struct answer_head *head, uint32_t index)
{
    json_t *delta = json_pack("{s:s, s:s}", "role", "assistant", "content", "");

    return dump(chunk_json(head, index, delta, NULL, TICKET_RUNS));
}

char *answer_chunk(const struct answer_head *head, uint32_t index, const char *text, size_t length,
                   json_t *logprobs)
{
    json_t *content = answer_text(text, length);

    if (head->is_chat)
        content = json_pack("{s:o}", "content", content);
    return dump(chunk_json(head, index, content, logprobs, TICKET_RUNS));
}

char *answer_last(const struct answer_head *head, uint32_t index, json_t *logprobs,
                  const struct ticket_news *news)
{
    json_t *nothing = head->is_chat ? json_object() : json_string("");
    json_t *chunk = chunk_json(head, index, nothing, logprobs, news->end);

    json_object_set_new(chunk, "timing", timing_json(news));
    return dump(chunk);
}

char *answer_usage(const struct answer_head *head, const struct ticket_news *all)
{
    json_t *chunk = head_json(head, true);

    json_object_set_new(chunk, "choices", json_array());
    json_object_set_new(chunk, "usage", usage_json(head, all));
    return dump(chunk);
}

static const char *error_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 429:
        return "rate_limit_error";
    case 500:
        return "server_error";
    case 503:
        return "unavailable_error";
    default:
        return "invalid_request_error";
    }
}

char *answer_error(int status, const char *message, const char *param)
{
    return dump(json_pack("{s:{s:o, s:s, s:s?, s:i}}", "error", "message",
                          answer_text(message, strlen(message)), "type", error_type(status),
                          "param", param, "code", status));
}

char *answer_too_long(uint32_t prompt_count, uint32_t context, const char *param)
{
    char message[160];

    snprintf(message, sizeof(message),
             "the prompt of %s%" PRIu32 " tokens exceeds the context of %" PRIu32
             ", which holds prompt and answer",
             prompt_count > context ? "at least " : "", prompt_count, context);
    return dump(json_pack("{s:{s:s, s:s, s:s, s:i, s:I, s:I}}", "error", "message", message, "type",
                          "exceed_context_size_error", "param", param, "code", 400,
                          "n_prompt_tokens", (json_int_t)prompt_count, "n_ctx",
                          (json_int_t)context));
}
