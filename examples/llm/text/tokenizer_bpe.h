/* SPDX-License-Identifier: MIT */
/* tokenizer_bpe.h: byte-level BPE (Sennrich et al. 2016; GPT-2's form over bytes): each word of the
 * pattern is cut into bytes, and neighbours are joined as the model's list of merges says, the
 * first merge of the list first. */
#ifndef LLM_TEXT_TOKENIZER_BPE_H
#define LLM_TEXT_TOKENIZER_BPE_H

#include "../model/gguf.h"
#include "token_list.h"
#include "vocabulary.h"

#include <stdbool.h>
#include <stddef.h>

struct tokenizer_bpe;

/* `v` must live as long. NULL: `error` has a sentence. */
struct tokenizer_bpe *tokenizer_bpe_new(const struct vocabulary *v, const struct gguf *g,
                                        char *error, size_t size);
void tokenizer_bpe_free(struct tokenizer_bpe *b); /* takes NULL */

/* The model wants its first token in front, unless its file says otherwise. */
bool tokenizer_bpe_wants_begin(const struct tokenizer_bpe *b);

/* The text is UTF-8. False: out of memory, or the pattern cannot cut it. */
bool tokenizer_bpe_encode(const struct tokenizer_bpe *b, const char *text, size_t length,
                          struct token_list *out);

#endif
