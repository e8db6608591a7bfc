/* SPDX-License-Identifier: MIT */
#include "tokenizer.h"

#include "characters.h"
#include "text_error.h"
#include "token_list.h"
#include "tokenizer_bpe.h"
#include "tokenizer_spm.h"
#include "vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SHOWN = 40, BYTES = 256 };

struct tokenizer {
    struct vocabulary vocabulary;
    struct tokenizer_bpe *bpe; /* NULL: SentencePiece */
    bool wants_begin;          /* the first token belongs in front of a prompt */
    bool wants_blank;          /* SentencePiece: so does a blank in front of a text */
    int32_t *special;          /* tokens that are found in text as they are, by their texts */
    size_t special_count;
    uint8_t pairs[BYTES * BYTES / 8]; /* a bit for each two bytes that one of these begins with */
};

/* One text that is being encoded. */
struct encoding {
    const struct tokenizer *t;
    struct token_list out;
    bool is_behind_special; /* or at the beginning */
};

/* --- Tokens in the text ----------------------------------------------------------------------- */

static bool is_special(const struct vocabulary_token *k)
{
    return k->length > 0 &&
           (k->type == TOKEN_CONTROL || k->type == TOKEN_USER || k->type == TOKEN_UNKNOWN);
}

/* A text comes before those that it begins. */
static int special_compare(const void *a, const void *b, void *of)
{
    const struct vocabulary *v = of;
    const struct vocabulary_token *l = &v->tokens[*(const int32_t *)a];
    const struct vocabulary_token *r = &v->tokens[*(const int32_t *)b];
    int order = memcmp(l->text, r->text, l->length < r->length ? l->length : r->length);

    return order ? order : (l->length > r->length) - (l->length < r->length);
}

static void pair_set(struct tokenizer *t, unsigned first, unsigned second)
{
    t->pairs[(first * BYTES + second) / 8] |= (uint8_t)(1U << second % 8);
}

static bool has_pair(const struct tokenizer *t, const char *text)
{
    unsigned first = (unsigned char)text[0], second = (unsigned char)text[1];

    return t->pairs[(first * BYTES + second) / 8] & (1U << second % 8);
}

static void special_add(struct tokenizer *t, int32_t token)
{
    const struct vocabulary_token *k = &t->vocabulary.tokens[token];
    unsigned first = (unsigned char)k->text[0];

    t->special[t->special_count++] = token;
    if (k->length > 1)
        pair_set(t, first, (unsigned char)k->text[1]);
    for (unsigned second = 0; k->length == 1 && second < BYTES; second++)
        pair_set(t, first, second);
}

static bool special_collect(struct tokenizer *t)
{
    const struct vocabulary *v = &t->vocabulary;

    for (int32_t i = 0; i < v->count; i++)
        t->special_count += is_special(&v->tokens[i]);
    t->special = calloc(t->special_count + 1, sizeof(*t->special));
    if (!t->special)
        return false;
    t->special_count = 0;
    for (int32_t i = 0; i < v->count; i++) {
        if (is_special(&v->tokens[i]))
            special_add(t, i);
    }
    qsort_r(t->special, t->special_count, sizeof(*t->special), special_compare, (void *)v);
    return true;
}

/* The first of the tokens from `first` to `end`, which have the same text up to byte `at`, whose
 * byte there is at least `byte`; `end` if there is none. */
static size_t special_search(const struct tokenizer *t, size_t first, size_t end, size_t at,
                             unsigned byte)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if ((unsigned char)t->vocabulary.tokens[t->special[middle]].text[at] < byte)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The longest token that is here as it is; -1. `trusted` bytes were not typed: only there are
 * control tokens recognised. What is not here costs little, whatever the text and the vocabulary
 * are: clients choose the text, and some models have thousands of such tokens. */
static int32_t special_at(const struct tokenizer *t, const char *text, size_t length,
                          size_t trusted)
{
    size_t first = 0, end = t->special_count, found = 0;
    int32_t longest = -1;

    if (length > 1 && !has_pair(t, text))
        return -1;
    for (size_t at = 0; first < end; at++) {
        const struct vocabulary_token *k = &t->vocabulary.tokens[t->special[first]];
        unsigned byte;

        /* Those from `first` to `end` begin with the `at` bytes that are here. */
        for (; k->length == at; k = &t->vocabulary.tokens[t->special[first]]) {
            if (found < at && (k->type == TOKEN_USER || at <= trusted)) {
                longest = t->special[first];
                found = at;
            }
            if (++first == end)
                return longest;
        }
        if (at == length)
            break;
        byte = (unsigned char)text[at];
        first = special_search(t, first, end, at, byte);
        end = special_search(t, first, end, at, byte + 1);
    }
    return longest;
}

/* --- Text between them ------------------------------------------------------------------------ */

static bool fragment_encode(struct encoding *e, const char *text, size_t length)
{
    const struct tokenizer *t = e->t;
    size_t size;
    char *copy;
    bool is_done;

    if (length == 0)
        return true;
    if (token_list_is_over(&e->out, vocabulary_least(&t->vocabulary, length)))
        return true;
    copy = characters_mend(text, length, &size);
    if (!copy)
        return false;
    if (t->bpe)
        is_done = tokenizer_bpe_encode(t->bpe, copy, size, &e->out);
    else
        is_done = tokenizer_spm_encode(&t->vocabulary, copy, size,
                                       t->wants_blank && e->is_behind_special, &e->out);
    e->is_behind_special = false;
    free(copy);
    return is_done;
}

/* `typed` in order: the pieces in which control tokens are text. */
static bool text_encode(struct encoding *e, const char *text, size_t length,
                        const struct typed_piece *typed, size_t typed_count)
{
    size_t fragment = 0, piece = 0, i = 0;

    /* More bytes than these without such a token are too many for the room. */
    size_t most = e->out.room ? (e->out.room + 1) * (e->t->vocabulary.longest + 1UL) : length;

    while (i < length && i - fragment <= most) {
        size_t trusted;
        int32_t token;

        while (piece < typed_count && typed[piece].end <= i)
            piece++;
        trusted = piece == typed_count     ? length - i
                  : typed[piece].begin > i ? typed[piece].begin - i
                                           : 0;
        token = special_at(e->t, text + i, length - i, trusted);
        if (token < 0) {
            i++;
            continue;
        }
        if (!fragment_encode(e, text + fragment, i - fragment))
            return false;
        token_list_add(&e->out, token);
        if (token_list_is_over(&e->out, 0))
            return true;
        e->is_behind_special = true;
        i += e->t->vocabulary.tokens[token].length;
        fragment = i;
    }
    return fragment_encode(e, text + fragment, length - fragment);
}

int64_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, bool special,
                         int32_t *tokens, size_t room)
{
    struct encoding e = {.t = t, .out = {tokens, room, 0}, .is_behind_special = true};
    const struct typed_piece all = {0, length};

    return text_encode(&e, text, length, &all, special ? 0 : 1) ? token_list_count(&e.out) : -1;
}

/* Its text is at the beginning, and was not typed. */
static bool begins_itself(const struct tokenizer *t, const struct prompt *p)
{
    size_t trusted = p->typed_count > 0 ? p->typed[0].begin : p->length;

    return p->length > 0 && special_at(t, p->text, p->length, trusted) == t->vocabulary.begin;
}

int64_t tokenizer_encode_prompt(const struct tokenizer *t, const struct prompt *p, int32_t *tokens,
                                size_t room)
{
    struct encoding e = {.t = t, .out = {tokens, room, 0}, .is_behind_special = true};

    if (t->wants_begin && t->vocabulary.begin >= 0 && !begins_itself(t, p))
        token_list_add(&e.out, t->vocabulary.begin);
    return text_encode(&e, p->text, p->length, p->typed, p->typed_count) ? token_list_count(&e.out)
                                                                         : -1;
}

/* --- The model's file ------------------------------------------------------------------------- */

static bool tokenizer_load(struct tokenizer *t, const struct gguf *g, char *error, size_t size)
{
    struct gguf_text kind = {"", 0};
    uint64_t number;
    bool is_bpe, is_spm;

    gguf_text(g, "tokenizer.ggml.model", &kind);
    is_bpe = kind.length == 4 && memcmp(kind.bytes, "gpt2", 4) == 0;
    is_spm = kind.length == 5 && memcmp(kind.bytes, "llama", 5) == 0;
    if (!is_bpe && !is_spm)
        return text_error(error, size, g,
                          "has a tokenizer of kind \"%.*s\" (tokenizer.ggml.model); llm knows gpt2 "
                          "and llama",
                          (int)(kind.length > NAME_SHOWN ? NAME_SHOWN : kind.length), kind.bytes);
    if (!vocabulary_load(&t->vocabulary, g, is_bpe, error, size))
        return false;
    if (is_bpe) {
        t->bpe = tokenizer_bpe_new(&t->vocabulary, g, error, size);
        if (!t->bpe)
            return false;
        t->wants_begin = tokenizer_bpe_wants_begin(t->bpe);
    } else {
        t->wants_begin = t->wants_blank = true;
    }
    if (gguf_number(g, "tokenizer.ggml.add_bos_token", &number))
        t->wants_begin = number != 0;
    if (gguf_number(g, "tokenizer.ggml.add_space_prefix", &number))
        t->wants_blank = number != 0;
    if (!special_collect(t))
        return text_error(error, size, g, "out of memory");
    return true;
}

struct tokenizer *tokenizer_new(const struct gguf *g, char *error, size_t size)
{
    struct tokenizer *t = calloc(1, sizeof(*t));

    if (!t) {
        text_error(error, size, g, "out of memory");
        return NULL;
    }
    if (!tokenizer_load(t, g, error, size)) {
        tokenizer_free(t);
        return NULL;
    }
    return t;
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    tokenizer_bpe_free(t->bpe);
    vocabulary_free(&t->vocabulary);
    free(t->special);
    free(t);
}

void tokenizer_piece(const struct tokenizer *t, int32_t token, const char **bytes, size_t *length)
{
    *bytes = "";
    *length = 0;
    if (token < 0 || token >= t->vocabulary.count)
        return;
    *bytes = t->vocabulary.tokens[token].piece;
    *length = t->vocabulary.tokens[token].piece_length;
}

bool tokenizer_is_end(const struct tokenizer *t, int32_t token)
{
    return token >= 0 && token < t->vocabulary.count && t->vocabulary.tokens[token].is_end;
}

int32_t tokenizer_count(const struct tokenizer *t)
{
    return t->vocabulary.count;
}

int32_t tokenizer_begin_token(const struct tokenizer *t)
{
    return t->vocabulary.begin;
}

int32_t tokenizer_end_token(const struct tokenizer *t)
{
    return t->vocabulary.end;
}
