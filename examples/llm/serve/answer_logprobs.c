/* SPDX-License-Identifier: MIT */
#include "answer_logprobs.h"

#include "completion_answer.h"

json_t *answer_logprobs_new(bool is_chat)
{
    return is_chat ? json_pack("{s:[]}", "content")
                   : json_pack("{s:[], s:[], s:[], s:[]}", "tokens", "token_logprobs",
                               "top_logprobs", "text_offset");
}

/* JSON has no infinity; OpenAI's least is this. */
static json_t *logprob_json(float logprob)
{
    return json_real(logprob > -9999 ? logprob : -9999);
}

/* {"token", "logprob", "bytes"}; a token's text alone may be a part of a character. */
static json_t *token_json(const struct tokenizer *tokenizer, int32_t token, float logprob)
{
    json_t *bytes = json_array();
    const char *text;
    size_t length;

    tokenizer_piece(tokenizer, token, &text, &length);
    for (size_t i = 0; i < length; i++)
        json_array_append_new(bytes, json_integer((unsigned char)text[i]));
    return json_pack("{s:o, s:o, s:o}", "token", answer_text(text, length), "logprob",
                     logprob_json(logprob), "bytes", bytes);
}

static void chat_add(json_t *to, const struct tokenizer *tokenizer, const struct token_report *r)
{
    json_t *one = token_json(tokenizer, r->token, r->logprob), *best = json_array();

    for (uint32_t i = 0; i < r->count; i++)
        json_array_append_new(best, token_json(tokenizer, r->best[i].token, r->best[i].logprob));
    json_object_set_new(one, "top_logprobs", best);
    json_array_append_new(json_object_get(to, "content"), one);
}

static uint64_t characters_of(const char *text, size_t length)
{
    uint64_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

static void text_add(json_t *to, const struct tokenizer *tokenizer, const struct token_report *r,
                     uint64_t *offset)
{
    json_t *best = json_object(), *name;
    const char *text;
    size_t length;

    for (uint32_t i = 0; i < r->count; i++) {
        tokenizer_piece(tokenizer, r->best[i].token, &text, &length);
        name = answer_text(text, length);
        if (name)
            json_object_set_new(best, json_string_value(name), logprob_json(r->best[i].logprob));
        json_decref(name);
    }
    tokenizer_piece(tokenizer, r->token, &text, &length);
    json_array_append_new(json_object_get(to, "tokens"), answer_text(text, length));
    json_array_append_new(json_object_get(to, "token_logprobs"), logprob_json(r->logprob));
    json_array_append_new(json_object_get(to, "top_logprobs"), best);
    json_array_append_new(json_object_get(to, "text_offset"), json_integer((json_int_t)*offset));
    *offset += characters_of(text, length);
}

void answer_logprobs_add(json_t *to, bool is_chat, const struct tokenizer *tokenizer,
                         const struct token_report *reports, uint32_t count, uint64_t *offset)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_chat)
            chat_add(to, tokenizer, &reports[i]);
        else
            text_add(to, tokenizer, &reports[i], offset);
    }
}
