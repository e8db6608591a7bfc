/* SPDX-License-Identifier: MIT */
#include "prompt_tokens.h"

#include "../text/chat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool chat_write(const struct gguf *gguf, const struct completion_request *request,
                       struct prompt *prompt, struct completion_problem *problem)
{
    struct chat_message *messages = calloc(request->message_count, sizeof(*messages));
    struct chat_options options = {.no_thinking = request->thinking == THINKING_OFF};
    bool is_written = false;

    snprintf(problem->text, sizeof(problem->text), "out of memory");
    for (uint32_t i = 0; messages && i < request->message_count; i++)
        messages[i] = (struct chat_message){request->messages[i].role, request->messages[i].content,
                                            strlen(request->messages[i].content)};
    if (messages)
        is_written = chat_render(gguf, messages, request->message_count, &options, prompt,
                                 problem->text, sizeof(problem->text));
    free(messages);
    return is_written;
}

/* Returns how many they are. Each is at most INT32_MAX, as the request was checked. */
static int64_t numbers_copy(const json_t *numbers, int32_t *tokens, uint32_t room)
{
    for (size_t i = 0; i < json_array_size(numbers) && i < room; i++)
        tokens[i] = (int32_t)json_integer_value(json_array_get(numbers, i));
    return (int64_t)json_array_size(numbers);
}

/* A token that the model cannot compute may also be its tokenizer's mistake. */
static bool are_known(const int32_t *tokens, int64_t count, uint32_t vocabulary,
                      struct completion_problem *problem)
{
    for (int64_t i = 0; i < count; i++) {
        if ((uint32_t)tokens[i] < vocabulary)
            continue;
        snprintf(problem->text, sizeof(problem->text),
                 "token %" PRId32 " is not in the vocabulary of %" PRIu32 " tokens", tokens[i],
                 vocabulary);
        return false;
    }
    return true;
}

static int64_t text_divide(const struct prompt_model *model, const struct prompt *prompt,
                           int32_t *tokens, uint32_t room, struct completion_problem *problem)
{
    int64_t n = -1;

    snprintf(problem->text, sizeof(problem->text), "the prompt cannot be divided into tokens");
    if (!prompt->failed)
        n = tokenizer_encode_prompt(model->tokenizer, prompt, tokens, room);
    if (n == 0)
        snprintf(problem->text, sizeof(problem->text), "the prompt is empty");
    return n ? n : -1;
}

int prompt_tokens_make(const struct prompt_model *model, const struct completion_request *request,
                       uint32_t i, int32_t *tokens, uint32_t room, uint32_t *count,
                       struct completion_problem *problem)
{
    const struct completion_prompt *asked = request->is_chat ? NULL : &request->prompts[i];
    struct prompt prompt = {0};
    int64_t n = -1;

    problem->param = request->is_chat ? "messages" : "prompt";
    if (asked && !asked->text) {
        n = numbers_copy(asked->tokens, tokens, room);
    } else {
        if (asked)
            prompt_add(&prompt, asked->text);
        if (asked || chat_write(model->gguf, request, &prompt, problem))
            n = text_divide(model, &prompt, tokens, room, problem);
        prompt_free(&prompt);
    }
    if (!are_known(tokens, n < room ? n : room, model->vocabulary, problem))
        n = -1;
    *count = n > UINT32_MAX ? UINT32_MAX : (uint32_t)(n < 0 ? 0 : n);
    return n < 0 ? -1 : 0;
}
