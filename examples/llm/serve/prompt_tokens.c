/* SPDX-License-Identifier: MIT */
#include "prompt_tokens.h"

#include "../text/chat.h"

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

int prompt_tokens_make(const struct gguf *gguf, const struct tokenizer *tokenizer,
                       const struct completion_request *request, int32_t *tokens, uint32_t room,
                       uint32_t *count, struct completion_problem *problem)
{
    struct prompt prompt = {0};
    int64_t n = -1;

    problem->param = request->is_chat ? "messages" : "prompt";
    if (request->is_chat) {
        if (!chat_write(gguf, request, &prompt, problem))
            goto out;
    } else {
        prompt_add(&prompt, request->prompt);
    }
    snprintf(problem->text, sizeof(problem->text), "the prompt cannot be divided into tokens");
    if (!prompt.failed)
        n = tokenizer_encode_prompt(tokenizer, &prompt, tokens, room);
    if (n == 0) {
        snprintf(problem->text, sizeof(problem->text), "the prompt is empty");
        n = -1;
    }
out:
    prompt_free(&prompt);
    *count = n > UINT32_MAX ? UINT32_MAX : (uint32_t)(n < 0 ? 0 : n);
    return n < 0 ? -1 : 0;
}
