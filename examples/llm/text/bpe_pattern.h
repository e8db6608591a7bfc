/* SPDX-License-Identifier: MIT */
/* bpe_pattern.h: how text is cut into words before byte-level BPE, by the name that the model's
 * file gives (tokenizer.ggml.pre). */
#ifndef LLM_TEXT_BPE_PATTERN_H
#define LLM_TEXT_BPE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct bpe_pattern;

/* Takes one word; false ends the cutting. */
typedef bool bpe_word(void *of, const char *text, size_t length);

/* NULL: there is no such pattern here, or memory has ended (then *is_known is true). */
struct bpe_pattern *bpe_pattern_new(const char *name, size_t length, bool *is_known);
void bpe_pattern_free(struct bpe_pattern *p); /* takes NULL */

/* "qwen2, llama-bpe": for a sentence. */
const char *bpe_pattern_names(void);

/* Cuts text that is UTF-8. False: `word` has returned false, memory has ended, or the text needs
 * more steps than are allowed. */
bool bpe_pattern_cut(const struct bpe_pattern *p, const char *text, size_t length, bpe_word *word,
                     void *of);

#endif
