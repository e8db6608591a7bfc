/* SPDX-License-Identifier: MIT */
/* fuzz_model_text.c: any text for both kinds of tokenizers, and any bytes as a model's output. A
 * byte 1 begins a typed piece or ends it. */
#include "common/text/utf8.h"
#include "examples/llm/text/text_out.h"
#include "examples/llm/text/tokenizer.h"
#include "tests/unit/examples/llm/written_gguf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPECIAL = 2 }; /* the first two tokens of each vocabulary are control tokens */

static const char *const bpe_tokens[] = {
    "<s>",      "<|im_end|>", "a",        "b",  "c",   "1",         "2",  "\xc4\xa0",
    "\xc4\x8a", "\xc3\x83",   "\xc2\xa4", "ab", "abc", "\304\240a", "12", "\xc3\x83\xc2\xa4"};
static const char *const merges[] = {"a b", "ab c", "\xc4\xa0 a", "1 2", "\xc3\x83 \xc2\xa4"};
static const char *const spm_tokens[] = {
    "<s>", "</s>", "\xe2\x96\x81", "a", "b", "ab", "\342\226\201a", "<0x0A>", "\xc3\xa4", "<unk>"};

static void texts_put(struct written_gguf *w, const char *key, const char *const *texts, size_t n)
{
    written_array(w, key, GGUF_KIND_TEXT, n);
    for (size_t i = 0; i < n; i++)
        written_text(w, texts[i]);
}

/* The file stays open, because the tokenizer reads it. */
static struct tokenizer *tokenizer_make(struct gguf **file, const char *model, const char *pre,
                                        const char *const *tokens, size_t n)
{
    static struct written_gguf w;
    char path[64], error[512];
    struct tokenizer *t;

    written_head(&w, 3, 0, 6);
    written_key(&w, "tokenizer.ggml.model", GGUF_KIND_TEXT);
    written_text(&w, model);
    written_key(&w, "tokenizer.ggml.pre", GGUF_KIND_TEXT);
    written_text(&w, pre);
    texts_put(&w, "tokenizer.ggml.tokens", tokens, n);
    texts_put(&w, "tokenizer.ggml.merges", merges, sizeof(merges) / sizeof(merges[0]));
    written_array(&w, "tokenizer.ggml.token_type", GGUF_KIND_U32, n);
    for (size_t i = 0; i < n; i++)
        written_u32(&w, i < SPECIAL ? 3 : 1);
    written_key(&w, "tokenizer.ggml.bos_token_id", GGUF_KIND_U32);
    written_u32(&w, 0);
    *file = written_open(&w, path, error);
    t = *file ? tokenizer_new(*file, error, sizeof(error)) : NULL;
    if (!t)
        abort();
    return t;
}

static void prompt_encode(const struct tokenizer *t, const struct prompt *p)
{
    int32_t tokens[8192];
    int64_t count = tokenizer_encode_prompt(t, p, tokens, 8192), special = 0;

    if (count < 0 || (count <= 8192 && count != tokenizer_encode_prompt(t, p, NULL, 0)))
        abort();
    for (int64_t i = 1; i < count && i < 8192; i++) {
        if (tokens[i] < 0 || tokens[i] >= tokenizer_count(t))
            abort();
        special += tokens[i] < SPECIAL;
    }
    /* All of it was typed. */
    if (special > 0 && p->typed_count == 1 && p->typed[0].begin == 0 &&
        p->typed[0].end == p->length)
        abort();
}

static void collect(char *out, size_t *used, const char *ready, size_t length)
{
    memcpy(out + *used, ready, length);
    *used += length;
    out[*used] = '\0';
    if (strlen(out) == *used && !utf8_is_valid(out))
        abort();
}

/* In pieces of 1 to 7 bytes as in one piece. */
static void output_give(const uint8_t *data, size_t size)
{
    static const char *const stops[] = {"ab", "\n\n", "\303\244b"};
    char *outs[2] = {malloc(3 * size + 4), malloc(3 * size + 4)};
    size_t used[2] = {0, 0};

    for (int way = 0; way < 2; way++) {
        struct text_out *o = text_out_new(stops, 3);
        const char *ready;
        size_t length, step;
        bool has_stopped = false;

        if (!o || !outs[way])
            abort();
        for (size_t at = 0; at < size && !has_stopped; at += step) {
            step = way == 0 ? size : 1 + (size_t)(data[at] % 7);
            if (step > size - at)
                step = size - at;
            has_stopped = text_out_add(o, (const char *)data + at, step, &ready, &length);
            collect(outs[way], &used[way], ready, length);
        }
        text_out_end(o, &ready, &length);
        collect(outs[way], &used[way], ready, length);
        text_out_free(o);
    }
    if (used[0] != used[1] || memcmp(outs[0], outs[1], used[0]) != 0)
        abort();
    free(outs[0]);
    free(outs[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const patterns[] = {"qwen2", "llama-bpe", "gpt-2", "smollm", "default"};
    static struct tokenizer *tokenizers[6];
    static struct gguf *files[6];
    struct prompt p = {0};
    bool is_typed = false;

    for (int i = 0; i < 6 && !tokenizers[i]; i++) {
        if (i < 5)
            tokenizers[i] = tokenizer_make(&files[i], "gpt2", patterns[i], bpe_tokens,
                                           sizeof(bpe_tokens) / sizeof(bpe_tokens[0]));
        else
            tokenizers[i] = tokenizer_make(&files[i], "llama", "", spm_tokens,
                                           sizeof(spm_tokens) / sizeof(spm_tokens[0]));
    }
    for (size_t begin = 0, i = 0; i <= size; i++) {
        if (i < size && data[i] != 1)
            continue;
        if (is_typed)
            prompt_add_typed(&p, (const char *)data + begin, i - begin);
        else
            prompt_add_bytes(&p, (const char *)data + begin, i - begin);
        is_typed = !is_typed;
        begin = i + 1;
    }
    for (int i = 0; i < 6; i++)
        prompt_encode(tokenizers[i], &p);
    prompt_free(&p);
    output_give(data, size);
    return 0;
}
