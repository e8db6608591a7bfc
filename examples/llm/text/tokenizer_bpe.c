/* SPDX-License-Identifier: MIT */
#include "tokenizer_bpe.h"

#include "bpe_pattern.h"
#include "byte_level.h"
#include "text_error.h"
#include "token_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MERGES_MOST = 1 << 22, BYTES = 256, NAME_SHOWN = 40 };

/* Which token two neighbours become, and how early. */
struct bpe_merge {
    int32_t left, right; /* left -1: this place of the table is empty */
    int32_t rank, token;
};

struct tokenizer_bpe {
    const struct vocabulary *vocabulary;
    struct bpe_pattern *pattern;
    struct bpe_merge *merges; /* a hash table */
    uint64_t merge_mask, multiplier;
    int32_t bytes[BYTES];   /* the token of each byte; -1: it has none */
    bool takes_whole_words; /* a word that is a token is not cut */
    bool wants_begin;
};

/* --- The list of merges ----------------------------------------------------------------------- */

static struct bpe_merge *merge_place(const struct tokenizer_bpe *b, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    uint64_t hash = key * b->multiplier;

    hash = (hash ^ hash >> 31) * b->multiplier >> 32;
    for (;; hash++) {
        struct bpe_merge *m = &b->merges[hash & b->merge_mask];

        if (m->left < 0 || (m->left == left && m->right == right))
            return m;
    }
}

/* "a b", cut at the first blank behind its first byte, becomes "ab". */
static bool merge_load(struct tokenizer_bpe *b, const struct gguf_text *text, int32_t rank)
{
    const struct vocabulary *v = b->vocabulary;
    const char *blank = text->length > 1 ? memchr(text->bytes + 1, ' ', text->length - 1) : NULL;
    char joined[512];
    size_t first, second;
    int32_t left, right, token;
    struct bpe_merge *m;

    if (!blank || text->length > sizeof(joined))
        return false;
    first = (size_t)(blank - text->bytes);
    second = text->length - first - 1;
    memcpy(joined, text->bytes, first);
    memcpy(joined + first, blank + 1, second);
    left = vocabulary_find(v, joined, first);
    right = vocabulary_find(v, joined + first, second);
    token = vocabulary_find(v, joined, first + second);
    if (left < 0 || right < 0 || token < 0)
        return false;
    m = merge_place(b, left, right);
    if (m->left < 0)
        *m = (struct bpe_merge){left, right, rank, token};
    return true;
}

static bool merges_load(struct tokenizer_bpe *b, const struct gguf *g, char *error, size_t size)
{
    struct gguf_array merges;
    struct gguf_text text;
    uint64_t places = 4;

    if (!gguf_array(g, "tokenizer.ggml.merges", &merges) || merges.kind != GGUF_KIND_TEXT)
        return text_error(error, size, g,
                          "has no merges: key tokenizer.ggml.merges is missing, or is no array of "
                          "texts");
    if (merges.count > MERGES_MOST)
        return text_error(error, size, g, "has %" PRIu64 " merges, more than %d", merges.count,
                          MERGES_MOST);
    while (places < 2 * merges.count)
        places *= 2;
    b->merges = malloc(places * sizeof(*b->merges));
    if (!b->merges)
        return text_error(error, size, g, "out of memory");
    b->merge_mask = places - 1;
    for (uint64_t i = 0; i < places; i++)
        b->merges[i].left = -1;
    for (uint64_t i = 0; i < merges.count; i++) {
        if (!gguf_array_text(&merges, i, &text) || !merge_load(b, &text, (int32_t)i))
            return text_error(
                error, size, g, "merge %" PRIu64 ", \"%.*s\", does not join two tokens to a third",
                i, (int)(text.length > NAME_SHOWN ? NAME_SHOWN : text.length), text.bytes);
    }
    return true;
}

/* --- Encoding --------------------------------------------------------------------------------- */

static bool merge_find(const void *of, const struct merge_part *left,
                       const struct merge_part *right, double *order, int32_t *token)
{
    const struct bpe_merge *m;

    if (left->token < 0 || right->token < 0)
        return false;
    m = merge_place(of, left->token, right->token);
    *order = m->rank;
    *token = m->token;
    return m->left >= 0;
}

struct bpe_encoding {
    const struct tokenizer_bpe *bpe;
    struct token_list *out;
    struct token_merge merge;
    char *whole; /* a word in the characters of byte-level BPE; room for the longest token */
};

/* The token that this word is as a whole; -1. */
static int32_t word_find(const struct bpe_encoding *e, const char *text, size_t length)
{
    size_t used = 0;

    if (!e->bpe->takes_whole_words)
        return -1;
    for (size_t i = 0; i < length; i++) {
        if (used > e->bpe->vocabulary->longest)
            return -1;
        used += byte_level_write((uint8_t)text[i], e->whole + used);
    }
    return vocabulary_find(e->bpe->vocabulary, e->whole, used);
}

static bool word_encode(void *of, const char *text, size_t length)
{
    struct bpe_encoding *e = of;
    int32_t token = word_find(e, text, length);

    if (token_list_is_over(e->out, vocabulary_least(e->bpe->vocabulary, length)))
        return false; /* which ends the cutting */
    if (token >= 0) {
        token_list_add(e->out, token);
        return true;
    }
    e->merge.count = 0;
    for (size_t i = 0; i < length; i++) {
        if (!token_merge_add(&e->merge, text + i, 1, e->bpe->bytes[(uint8_t)text[i]]))
            return false;
    }
    if (!token_merge_run(&e->merge, merge_find, e->bpe))
        return false;
    for (int32_t i = 0; i >= 0; i = e->merge.parts[i].next) {
        if (e->merge.parts[i].token >= 0) /* some vocabularies lack bytes that no UTF-8 has */
            token_list_add(e->out, e->merge.parts[i].token);
    }
    return true;
}

bool tokenizer_bpe_encode(const struct tokenizer_bpe *b, const char *text, size_t length,
                          struct token_list *out)
{
    struct bpe_encoding e = {.bpe = b, .out = out};
    bool is_done;

    e.whole = malloc(b->vocabulary->longest + 2 * BYTE_LEVEL_MOST);
    is_done = e.whole && (bpe_pattern_cut(b->pattern, text, length, word_encode, &e) ||
                          token_list_is_over(out, 0));
    token_merge_free(&e.merge);
    free(e.whole);
    return is_done;
}

/* --- The model's file ------------------------------------------------------------------------- */

static bool pattern_load(struct tokenizer_bpe *b, const struct gguf *g, char *error, size_t size)
{
    static const char *const llama3[] = {"llama-bpe", "llama3", "llama-v3"};
    struct gguf_text name = {"default", 7};
    bool is_known;

    gguf_text(g, "tokenizer.ggml.pre", &name);
    b->pattern = bpe_pattern_new(name.bytes, name.length, &is_known);
    if (!is_known)
        return text_error(error, size, g,
                          "cuts text by the pattern %.*s (tokenizer.ggml.pre); llm knows %s",
                          (int)(name.length > NAME_SHOWN ? NAME_SHOWN : name.length), name.bytes,
                          bpe_pattern_names());
    if (!b->pattern)
        return text_error(error, size, g, "out of memory");
    for (size_t i = 0; i < sizeof(llama3) / sizeof(llama3[0]); i++) {
        if (name.length == strlen(llama3[i]) && memcmp(name.bytes, llama3[i], name.length) == 0)
            b->takes_whole_words = b->wants_begin = true;
    }
    return true;
}

struct tokenizer_bpe *tokenizer_bpe_new(const struct vocabulary *v, const struct gguf *g,
                                        char *error, size_t size)
{
    struct tokenizer_bpe *b = calloc(1, sizeof(*b));
    char character[BYTE_LEVEL_MOST];

    if (!b) {
        text_error(error, size, g, "out of memory");
        return NULL;
    }
    b->vocabulary = v;
    b->multiplier = vocabulary_multiplier();
    for (int i = 0; i < BYTES; i++)
        b->bytes[i] = vocabulary_find(v, character, byte_level_write((uint8_t)i, character));
    if (!pattern_load(b, g, error, size) || !merges_load(b, g, error, size)) {
        tokenizer_bpe_free(b);
        return NULL;
    }
    return b;
}

void tokenizer_bpe_free(struct tokenizer_bpe *b)
{
    if (!b)
        return;
    bpe_pattern_free(b->pattern);
    free(b->merges);
    free(b);
}

bool tokenizer_bpe_wants_begin(const struct tokenizer_bpe *b)
{
    return b->wants_begin;
}
