/* SPDX-License-Identifier: MIT */
#include "vocabulary.h"

#include "byte_level.h"
#include "text_error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    TOKENS_MOST = 1 << 20,
    TOKEN_LONGEST = 65535, /* bytes */
    NAME_SHOWN = 40,
};

/* Tokens that end an answer whatever the file says of them, as in llama.cpp. */
static const char *const end_texts[] = {
    "<|eot_id|>",      "<|im_end|>", "<|end|>",   "<end_of_turn>", "<|endoftext|>",
    "<|end_of_text|>", "<|eom_id|>", "</s>",      "<EOT>",         "_<EOT>",
    "<|fim_pad|>",     "<fim-pad>",  "<fim_pad>", "<PAD>",         "<|fim_repo|>",
    "<|repo_name|>",   "<fim-repo>", "<REPO>",    "<reponame>",    "<|file_sep|>",
    "<eos>",
};

uint64_t vocabulary_multiplier(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        number = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15;
    return number | 1;
}

/* --- By text ---------------------------------------------------------------------------------- */

static uint64_t text_hash(const struct vocabulary *v, const char *text, size_t length)
{
    uint64_t hash = length;

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * v->multiplier;
        hash ^= hash >> 29;
    }
    return hash * v->multiplier >> 32;
}

int32_t vocabulary_find(const struct vocabulary *v, const char *text, size_t length)
{
    if (length > v->longest)
        return -1;
    for (uint64_t i = text_hash(v, text, length);; i++) {
        int32_t token = v->slots[i & v->slot_mask];

        if (token < 0 ||
            (v->tokens[token].length == length && memcmp(v->tokens[token].text, text, length) == 0))
            return token;
    }
}

static bool slots_fill(struct vocabulary *v, const struct gguf *g, char *error, size_t size)
{
    uint64_t count = 4;

    while (count < 2 * (uint64_t)v->count)
        count *= 2;
    v->slots = malloc(count * sizeof(*v->slots));
    if (!v->slots)
        return text_error(error, size, g, "out of memory");
    memset(v->slots, 0xff, count * sizeof(*v->slots));
    v->slot_mask = count - 1;
    v->multiplier = vocabulary_multiplier();
    for (int32_t token = 0; token < v->count; token++) {
        const struct vocabulary_token *k = &v->tokens[token];
        uint64_t i = text_hash(v, k->text, k->length);

        if (k->length == 0)
            continue;
        if (vocabulary_find(v, k->text, k->length) >= 0)
            return text_error(error, size, g,
                              "tokens %" PRId32 " and %" PRId32 " have the same text, %.*s",
                              vocabulary_find(v, k->text, k->length), token,
                              (int)(k->length > NAME_SHOWN ? NAME_SHOWN : k->length), k->text);
        while (v->slots[i & v->slot_mask] >= 0)
            i++;
        v->slots[i & v->slot_mask] = token;
    }
    return true;
}

/* --- The file's arrays ------------------------------------------------------------------------ */

static bool texts_load(struct vocabulary *v, const struct gguf *g, uint64_t *total, char *error,
                       size_t size)
{
    struct gguf_array texts;
    struct gguf_text text;

    if (!gguf_array(g, "tokenizer.ggml.tokens", &texts) || texts.kind != GGUF_KIND_TEXT)
        return text_error(error, size, g,
                          "has no tokens: key tokenizer.ggml.tokens is missing, or is "
                          "no array of texts");
    if (texts.count == 0 || texts.count > TOKENS_MOST)
        return text_error(error, size, g, "has %" PRIu64 " tokens; 1 to %d are allowed",
                          texts.count, TOKENS_MOST);
    v->tokens = calloc(texts.count, sizeof(*v->tokens));
    if (!v->tokens)
        return text_error(error, size, g, "out of memory");
    for (v->count = 0; (uint64_t)v->count < texts.count; v->count++) {
        struct vocabulary_token *k = &v->tokens[v->count];

        if (!gguf_array_text(&texts, (uint64_t)v->count, &text) || text.length > TOKEN_LONGEST)
            return text_error(error, size, g, "token %" PRId32 " has more than %d bytes", v->count,
                              TOKEN_LONGEST);
        k->text = text.bytes;
        k->length = (uint32_t)text.length;
        k->type = TOKEN_NORMAL;
        *total += text.length;
        if (k->length > v->longest)
            v->longest = k->length;
    }
    return true;
}

static bool types_load(struct vocabulary *v, const struct gguf *g, char *error, size_t size)
{
    struct gguf_array types, scores;
    int64_t type;
    double score;

    if (gguf_array(g, "tokenizer.ggml.token_type", &types)) {
        if (types.count < (uint64_t)v->count)
            return text_error(error, size, g, "has %" PRId32 " tokens, and types of %" PRIu64,
                              v->count, types.count);
        for (int32_t i = 0; i < v->count; i++) {
            if (!gguf_array_integer(&types, (uint64_t)i, &type) || type < 0 || type > TOKEN_BYTE)
                return text_error(error, size, g,
                                  "token %" PRId32 " is of a type that GGUF does not have", i);
            v->tokens[i].type = (uint8_t)type;
        }
    }
    if (!gguf_array(g, "tokenizer.ggml.scores", &scores))
        return true;
    if (scores.count < (uint64_t)v->count)
        return text_error(error, size, g, "has %" PRId32 " tokens, and scores of %" PRIu64,
                          v->count, scores.count);
    for (int32_t i = 0; i < v->count; i++) {
        if (!gguf_array_real(&scores, (uint64_t)i, &score) || score != score)
            return text_error(error, size, g, "the score of token %" PRId32 " is no number", i);
        v->tokens[i].score = (float)score;
    }
    return true;
}

/* A token that a key names; -1: there is no such key, or no such token. */
static int32_t named_token(const struct vocabulary *v, const struct gguf *g, const char *key)
{
    uint64_t number;

    return gguf_number(g, key, &number) && number < (uint64_t)v->count ? (int32_t)number : -1;
}

static void ends_mark(struct vocabulary *v, const struct gguf *g)
{
    static const char *const keys[] = {
        "tokenizer.ggml.eos_token_id",     "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id",     "tokenizer.ggml.fim_pad_token_id",
        "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"};

    for (size_t i = 0; i < sizeof(end_texts) / sizeof(end_texts[0]); i++) {
        int32_t token = vocabulary_find(v, end_texts[i], strlen(end_texts[i]));

        if (token >= 0) {
            v->tokens[token].is_end = true;
            v->tokens[token].type = TOKEN_CONTROL;
        }
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int32_t token = named_token(v, g, keys[i]);

        if (token >= 0)
            v->tokens[token].is_end = true;
    }
    v->begin = named_token(v, g, "tokenizer.ggml.bos_token_id");
    v->end = named_token(v, g, "tokenizer.ggml.eos_token_id");
}

/* --- What tokens add to the output ------------------------------------------------------------ */

/* "<0x0A>" */
static bool byte_read(const struct vocabulary_token *k, char *out)
{
    char digits[3] = {0};
    char *end;

    if (k->length != 6 || memcmp(k->text, "<0x", 3) != 0 || k->text[5] != '>')
        return false;
    memcpy(digits, k->text + 3, 2);
    *out = (char)strtoul(digits, &end, 16);
    return end == digits + 2;
}

/* SentencePiece writes a blank as U+2581. */
static size_t blanks_read(const char *text, size_t length, char *out)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        if (length - i >= 3 && memcmp(text + i, "\xe2\x96\x81", 3) == 0) {
            out[used++] = ' ';
            i += 2;
        } else {
            out[used++] = text[i];
        }
    }
    return used;
}

static size_t piece_write(const struct vocabulary_token *k, bool is_byte_level, char *out)
{
    if (k->length == 0)
        return 0;
    switch (k->type) {
    case TOKEN_NORMAL:
        return is_byte_level ? byte_level_read(k->text, k->length, out)
                             : blanks_read(k->text, k->length, out);
    case TOKEN_USER:
        memcpy(out, k->text, k->length);
        return k->length;
    case TOKEN_BYTE:
        return !is_byte_level && byte_read(k, out) ? 1 : 0;
    default:
        return 0;
    }
}

static bool pieces_fill(struct vocabulary *v, bool is_byte_level, uint64_t total)
{
    char *at = malloc(total + 1);

    v->pieces = at;
    if (!at)
        return false;
    for (int32_t i = 0; i < v->count; i++) {
        struct vocabulary_token *k = &v->tokens[i];

        k->piece = at;
        k->piece_length = (uint32_t)piece_write(k, is_byte_level, at);
        at += k->piece_length;
    }
    return true;
}

bool vocabulary_load(struct vocabulary *v, const struct gguf *g, bool is_byte_level, char *error,
                     size_t size)
{
    uint64_t total = 0;

    if (!texts_load(v, g, &total, error, size) || !types_load(v, g, error, size) ||
        !slots_fill(v, g, error, size))
        return false;
    ends_mark(v, g);
    if (!pieces_fill(v, is_byte_level, total))
        return text_error(error, size, g, "out of memory");
    return true;
}

void vocabulary_free(struct vocabulary *v)
{
    free(v->slots);
    free(v->pieces);
    free(v->tokens);
}
