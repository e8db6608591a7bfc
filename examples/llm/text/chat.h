/* SPDX-License-Identifier: MIT */
/*
 * chat.h: a conversation as the text that a model was trained with.
 *
 * A model's file has a template in the language Jinja. Here its family is recognised by its text,
 * and the text is written as the template would: byte for byte, or not at all. The families: ChatML
 * (plain, Qwen2, Qwen2.5, Qwen3, SmolLM2), Llama 3 (3 and 3.1 to 3.3), Zephyr (TinyLlama).
 */
#ifndef LLM_TEXT_CHAT_H
#define LLM_TEXT_CHAT_H

#include "../model/gguf.h"
#include "prompt.h"

#include <stdbool.h>
#include <stddef.h>

struct chat_message {
    const char *role; /* "system", "user" or "assistant" */
    const char *content;
    size_t length;
};

/* What a request may set (chat_template_kwargs); begins as {0}. */
struct chat_options {
    bool no_thinking;   /* enable_thinking is false; only Qwen3's template asks for it */
    const char *date;   /* "22 Nov 2026", for Llama 3.1 and later; NULL: what the template says */
    bool is_unanswered; /* ends behind the last message: add_generation_prompt is false */
};

/* Writes into `out`, which begins as {0} and is freed by prompt_free(). False: `error` says that
 * the file has no template, or one of no family that is here, or that the messages are not what the
 * family takes. */
bool chat_render(const struct gguf *g, const struct chat_message *messages, size_t count,
                 const struct chat_options *options, struct prompt *out, char *error, size_t size);

/* The family's name, "ChatML"; NULL: `error` has the sentence that chat_render() would give. */
const char *chat_family(const struct gguf *g, char *error, size_t size);

#endif
