/* SPDX-License-Identifier: MIT */
/*
 * text_probe WORD MODEL: what examples/llm/text makes of texts, for tests that compare it with
 * other programs. It reads a JSON array from stdin and prints one.
 *
 *     tokens    texts -> their tokens
 *     special   texts -> their tokens, control tokens recognised
 *     pieces    [] -> the output of each token as hexadecimal digits, and whether it ends an answer
 *     chat      {"messages": [...], "enable_thinking": false, "date": "...", "unanswered": true} ->
 *               the rendered text, or {"error": sentence}
 *     prompt    the same -> the tokens of the rendered text
 */
#include "examples/llm/text/chat.h"
#include "examples/llm/text/tokenizer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MOST = 64 };

static char why[512];

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "text_probe: %s\n", what);
    exit(1);
}

static json_t *tokens_of(const struct tokenizer *t, const struct prompt *p, bool is_special)
{
    json_t *list = json_array();
    int64_t count, again;
    int32_t *tokens;

    if (is_special)
        count = tokenizer_encode_prompt(t, p, NULL, 0);
    else
        count = tokenizer_encode(t, p->text, p->length, false, NULL, 0);
    if (count < 0)
        give_up("a text has no tokens");
    tokens = calloc((size_t)count + 1, sizeof(*tokens));
    if (is_special)
        again = tokenizer_encode_prompt(t, p, tokens, (size_t)count);
    else
        again = tokenizer_encode(t, p->text, p->length, false, tokens, (size_t)count);
    if (again != count)
        give_up("a text has another number of tokens when it is encoded again");
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(tokens[i]));
    free(tokens);
    return list;
}

/* As one text; no token in front. */
static json_t *text_tokens(const struct tokenizer *t, const json_t *text, bool is_special)
{
    const char *bytes = json_string_value(text);
    size_t length = json_string_length(text);
    json_t *list = json_array();
    int32_t *tokens = calloc(4 * length + 16, sizeof(*tokens));
    int64_t count = tokenizer_encode(t, bytes, length, is_special, tokens, 4 * length + 16);

    if (count < 0 || (uint64_t)count > 4 * length + 16)
        give_up("a text has no tokens");
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(tokens[i]));
    free(tokens);
    return list;
}

static json_t *pieces(const struct tokenizer *t)
{
    json_t *list = json_array();

    for (int32_t token = 0; token < tokenizer_count(t); token++) {
        const char *bytes;
        size_t length;
        char *digits;

        tokenizer_piece(t, token, &bytes, &length);
        digits = calloc(2 * length + 1, 1);
        for (size_t i = 0; i < length; i++)
            snprintf(digits + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
        json_array_append_new(list, json_pack("[s,b]", digits, tokenizer_is_end(t, token)));
        free(digits);
    }
    return list;
}

/* The rendered text; NULL: `why` has the sentence. */
static bool chat_write(const struct gguf *g, json_t *request, struct prompt *out)
{
    struct chat_message messages[MESSAGES_MOST];
    const json_t *list = json_object_get(request, "messages");
    const json_t *thinking = json_object_get(request, "enable_thinking");
    const struct chat_options options = {
        .no_thinking = json_is_false(thinking),
        .date = json_string_value(json_object_get(request, "date")),
        .is_unanswered = json_is_true(json_object_get(request, "unanswered")),
    };
    size_t count = json_array_size(list);

    if (count > MESSAGES_MOST)
        give_up("too many messages");
    for (size_t i = 0; i < count; i++) {
        const json_t *m = json_array_get(list, i), *content = json_object_get(m, "content");

        messages[i] =
            (struct chat_message){json_string_value(json_object_get(m, "role")),
                                  json_string_value(content), json_string_length(content)};
        if (!messages[i].role || !messages[i].content)
            give_up("a message has no role or no content");
    }
    return chat_render(g, messages, count, &options, out, why, sizeof(why));
}

static json_t *chat(const struct gguf *g, const struct tokenizer *t, json_t *request)
{
    struct prompt p = {0};
    json_t *answer;

    if (!chat_write(g, request, &p))
        answer = json_pack("{s:s}", "error", why);
    else
        answer = t ? tokens_of(t, &p, true) : json_stringn(p.text, p.length);
    prompt_free(&p);
    return answer;
}

static json_t *one_answer(const char *word, const struct gguf *g, const struct tokenizer *t,
                          json_t *one)
{
    if (strcmp(word, "tokens") == 0)
        return text_tokens(t, one, false);
    if (strcmp(word, "special") == 0)
        return text_tokens(t, one, true);
    if (strcmp(word, "chat") == 0)
        return chat(g, NULL, one);
    return chat(g, t, one);
}

int main(int argc, char **argv)
{
    struct tokenizer *t = NULL;
    json_t *asked, *answers;
    struct gguf *g;
    json_error_t error;

    if (argc != 3)
        give_up("usage: text_probe tokens|special|pieces|chat|prompt MODEL");
    g = gguf_open(argv[2], why, sizeof(why));
    if (!g)
        give_up(why);
    if (strcmp(argv[1], "chat") != 0) {
        t = tokenizer_new(g, why, sizeof(why));
        if (!t)
            give_up(why);
    }
    asked = json_loadf(stdin, JSON_ALLOW_NUL, &error);
    if (!json_is_array(asked))
        give_up("stdin is no JSON array");
    if (strcmp(argv[1], "pieces") == 0) {
        answers = pieces(t);
    } else {
        answers = json_array();
        for (size_t i = 0; i < json_array_size(asked); i++)
            json_array_append_new(answers, one_answer(argv[1], g, t, json_array_get(asked, i)));
    }
    json_dumpf(answers, stdout, JSON_COMPACT);
    json_decref(asked);
    json_decref(answers);
    tokenizer_free(t);
    gguf_close(g);
    return 0;
}
