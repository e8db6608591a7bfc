/* SPDX-License-Identifier: MIT */
/*
 * tokenizer.h: text to tokens and back, as the model's file says.
 *
 * There are two kinds: byte-level BPE (Qwen, Llama 3, SmolLM) and SentencePiece (Llama 2, Mistral,
 * TinyLlama). Both give what llama.cpp gives. Once made, a tokenizer does not change; any thread
 * may use it.
 */
#ifndef LLM_TEXT_TOKENIZER_H
#define LLM_TEXT_TOKENIZER_H

#include "../model/gguf.h"
#include "prompt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

/* `g` must live as long. NULL: `error` says that the file's tokenizer is damaged, or of a kind that
 * is not here. */
struct tokenizer *tokenizer_new(const struct gguf *g, char *error, size_t size);
void tokenizer_free(struct tokenizer *t); /* takes NULL */

/* Stores the text's tokens and returns how many they are; room + 1 if they are more than `room`,
 * which is known before all are made; without room they are only counted. Negative: out of memory,
 * or a text that the model's pattern cannot split. Bytes that are not UTF-8 are read as U+FFFD.
 * `special`: the text of a control token becomes that token; otherwise it
 * is split like any other. Nothing is put in front of the text. */
int64_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, bool special,
                         int32_t *tokens, size_t room);

/* The same of a prompt: control tokens are recognised outside its typed pieces, and in front there
 * is the token that the model wants at the beginning, unless the prompt begins with it. */
int64_t tokenizer_encode_prompt(const struct tokenizer *t, const struct prompt *p, int32_t *tokens,
                                size_t room);

/* What a token adds to the output: perhaps a part of a character, and nothing for control tokens
 * and for numbers that are no token. Valid as long as the tokenizer. */
void tokenizer_piece(const struct tokenizer *t, int32_t token, const char **bytes, size_t *length);

/* The model has ended its answer. */
bool tokenizer_is_end(const struct tokenizer *t, int32_t token);

int32_t tokenizer_count(const struct tokenizer *t);
/* -1: the model has none. */
int32_t tokenizer_begin_token(const struct tokenizer *t);
int32_t tokenizer_end_token(const struct tokenizer *t);

#endif
