/* SPDX-License-Identifier: MIT */
/* tokenizer_spm.h: SentencePiece (Kudo and Richardson 2018) as Llama 2 uses it: a text is cut into
 * characters, neighbours that together are a token are joined, the token of the highest score
 * first, and characters that are no token become tokens of their bytes. */
#ifndef LLM_TEXT_TOKENIZER_SPM_H
#define LLM_TEXT_TOKENIZER_SPM_H

#include "token_list.h"
#include "vocabulary.h"

#include <stdbool.h>
#include <stddef.h>

/* The text is UTF-8. `has_blank`: a blank is put in front of it. False: out of memory. */
bool tokenizer_spm_encode(const struct vocabulary *v, const char *text, size_t length,
                          bool has_blank, struct token_list *out);

#endif
