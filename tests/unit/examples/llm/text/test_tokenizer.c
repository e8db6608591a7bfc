/* SPDX-License-Identifier: MIT */
/* test_tokenizer.c: small vocabularies of both kinds; where control tokens are recognised; damaged
 * vocabularies. tests/llm/text.t compares real ones with llama.cpp. */
#include "examples/llm/text/tokenizer.h"

#include "examples/llm/text/vocabulary.h"
#include "tests/unit/examples/llm/written_gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { TOKENS_MOST = 64 };

/* What a test may leave out of a vocabulary, or put into it. */
struct wanted {
    const char *model, *pre;
    const char *tokens[16]; /* up to a NULL */
    uint8_t types[16];
    float scores[16];
    const char *merges[8];
    int begin, end;              /* -1: no key */
    int types_less, scores_less; /* the number of elements that are missing */
    bool add_begin;
};

static const struct wanted bpe = {
    .model = "gpt2",
    .pre = "qwen2",
    .tokens = {"a", "b", "c", "ab", "abc", "\xc4\xa0",
               "\xc4\xa0"
               "a",
               "<s>", "<e>", "<u>", "\xc4\x8a"},
    .types = {1, 1, 1, 1, 1, 1, 1, 3, 3, 4, 1},
    .merges = {"a b", "ab c", "\xc4\xa0 a"},
    .begin = 7,
    .end = 8,
};
enum { A, B, C, AB, ABC, BLANK, BLANK_A, BEGIN, END, USER, NEWLINE };

static const struct wanted spm = {
    .model = "llama",
    .tokens = {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA4>", "\xe2\x96\x81", "a", "b",
               "\xe2\x96\x81"
               "a",
               "ab",
               "\xe2\x96\x81"
               "ab",
               "<0x0A>"},
    .types = {2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 6},
    .scores = {0, 0, 0, 0, 0, -3, -4, -5, -2, -1, -9, 0},
    .begin = 1,
    .end = 2,
};

static struct written_gguf w;

static int count_of(const char *const *list, int most)
{
    int n = 0;

    while (n < most && list[n])
        n++;
    return n;
}

static void vocabulary_put(const struct wanted *v)
{
    int tokens = count_of(v->tokens, 16), merges = count_of(v->merges, 8);
    uint64_t keys =
        4U + (v->pre != NULL) + (merges > 0) + (v->begin >= 0) + (v->end >= 0) + v->add_begin;

    written_head(&w, 3, 0, keys);
    written_key(&w, "tokenizer.ggml.model", GGUF_KIND_TEXT);
    written_text(&w, v->model);
    if (v->pre) {
        written_key(&w, "tokenizer.ggml.pre", GGUF_KIND_TEXT);
        written_text(&w, v->pre);
    }
    written_array(&w, "tokenizer.ggml.tokens", GGUF_KIND_TEXT, (uint64_t)tokens);
    for (int i = 0; i < tokens; i++)
        written_text(&w, v->tokens[i]);
    written_array(&w, "tokenizer.ggml.token_type", GGUF_KIND_I32,
                  (uint64_t)(tokens - v->types_less));
    for (int i = 0; i < tokens - v->types_less; i++)
        written_u32(&w, v->types[i]);
    written_array(&w, "tokenizer.ggml.scores", GGUF_KIND_F32, (uint64_t)(tokens - v->scores_less));
    written_raw(&w, v->scores, (size_t)(tokens - v->scores_less) * sizeof(float));
    if (merges > 0) {
        written_array(&w, "tokenizer.ggml.merges", GGUF_KIND_TEXT, (uint64_t)merges);
        for (int i = 0; i < merges; i++)
            written_text(&w, v->merges[i]);
    }
    if (v->begin >= 0) {
        written_key(&w, "tokenizer.ggml.bos_token_id", GGUF_KIND_U32);
        written_u32(&w, (uint32_t)v->begin);
    }
    if (v->end >= 0) {
        written_key(&w, "tokenizer.ggml.eos_token_id", GGUF_KIND_U32);
        written_u32(&w, (uint32_t)v->end);
    }
    if (v->add_begin) {
        written_key(&w, "tokenizer.ggml.add_bos_token", GGUF_KIND_BOOL);
        written_raw(&w, "\1", 1);
    }
}

/* A tokenizer and its file. */
struct opened {
    struct gguf *g;
    struct tokenizer *t;
    char error[512];
};

static void opened_try(struct opened *o, const struct wanted *v)
{
    char path[64];

    vocabulary_put(v);
    o->g = written_open(&w, path, o->error);
    if (!o->g)
        fail_msg("%s", o->error);
    o->t = tokenizer_new(o->g, o->error, sizeof(o->error));
}

static void opened_make(struct opened *o, const struct wanted *v)
{
    opened_try(o, v);
    if (!o->t)
        fail_msg("%s", o->error);
}

static void opened_end(struct opened *o)
{
    tokenizer_free(o->t);
    gguf_close(o->g);
}

/* `expected` ends with -1. */
static void tokens_check(const struct tokenizer *t, const char *text, bool special,
                         const int32_t *expected)
{
    int32_t tokens[TOKENS_MOST];
    int64_t count = tokenizer_encode(t, text, strlen(text), special, tokens, TOKENS_MOST), i = 0;

    for (; i < count && expected[i] >= 0; i++)
        assert_int_equal(tokens[i], expected[i]);
    assert_int_equal(expected[i], -1);
    assert_int_equal(count, i);
    /* Without room they are counted. */
    assert_int_equal(tokenizer_encode(t, text, strlen(text), special, NULL, 0), count);
}
#define TOKENS(...) ((const int32_t[]){__VA_ARGS__, -1})
#define NO_TOKENS   ((const int32_t[]){-1})

static void bpe_encode(void **state)
{
    struct opened o;

    (void)state;
    opened_make(&o, &bpe);
    tokens_check(o.t, "", false, NO_TOKENS);
    tokens_check(o.t, "abc", false, TOKENS(ABC));
    tokens_check(o.t, "abab", false, TOKENS(AB, AB));
    tokens_check(o.t, "cab abc a", false, TOKENS(C, AB, BLANK, ABC, BLANK_A));
    tokens_check(o.t, "a\n\nb", false, TOKENS(A, NEWLINE, NEWLINE, B));
    /* These bytes are no tokens of this vocabulary. */
    tokens_check(o.t,
                 "axb\xff"
                 "c",
                 false, TOKENS(A, B, C));
    tokens_check(o.t, "a<s>b", false, TOKENS(A, B));
    tokens_check(o.t, "a<s>b<e>", true, TOKENS(A, BEGIN, B, END));
    tokens_check(o.t, "a<u>b", false, TOKENS(A, USER, B));
    assert_int_equal(tokenizer_count(o.t), 11);
    assert_int_equal(tokenizer_begin_token(o.t), BEGIN);
    assert_int_equal(tokenizer_end_token(o.t), END);
    assert_true(tokenizer_is_end(o.t, END) && !tokenizer_is_end(o.t, BEGIN));
    assert_false(tokenizer_is_end(o.t, -1) || tokenizer_is_end(o.t, 11));
    opened_end(&o);
}

static void spm_encode(void **state)
{
    struct opened o;

    (void)state;
    opened_make(&o, &spm);
    tokens_check(o.t, "", false, NO_TOKENS);
    /* "ab" has a higher score than "_a", and "_ab" is made of it then. */
    tokens_check(o.t, "ab", false, TOKENS(10));
    tokens_check(o.t, "a", false, TOKENS(8));
    tokens_check(o.t, "ba ab", false, TOKENS(5, 7, 6, 10));
    tokens_check(o.t, "\xc3\xa4", false, TOKENS(5, 3, 4));
    tokens_check(o.t, "a\n", false, TOKENS(8, 11));
    /* Behind a control token there is a blank again. */
    tokens_check(o.t, "a</s>b", true, TOKENS(8, 2, 5, 7));
    opened_end(&o);
}

static void piece_check(const struct tokenizer *t, int32_t token, const char *expected)
{
    const char *bytes;
    size_t length;

    tokenizer_piece(t, token, &bytes, &length);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
}

static void pieces_give(void **state)
{
    struct opened o;

    (void)state;
    opened_make(&o, &bpe);
    piece_check(o.t, BLANK_A, " a");
    piece_check(o.t, NEWLINE, "\n");
    piece_check(o.t, BEGIN, "");
    piece_check(o.t, USER, "<u>");
    piece_check(o.t, -1, "");
    piece_check(o.t, 11, "");
    opened_end(&o);
    opened_make(&o, &spm);
    piece_check(o.t, 10, " ab");
    piece_check(o.t, 3, "\xc3");
    piece_check(o.t, 0, "");
    piece_check(o.t, 2, "");
    opened_end(&o);
}

static void prompt_check(const struct tokenizer *t, struct prompt *p, const int32_t *expected)
{
    int32_t tokens[TOKENS_MOST];
    int64_t count = tokenizer_encode_prompt(t, p, tokens, TOKENS_MOST), i = 0;

    for (; i < count && expected[i] >= 0; i++)
        assert_int_equal(tokens[i], expected[i]);
    assert_int_equal(count, i);
    assert_int_equal(expected[i], -1);
    prompt_free(p);
}

/* Control tokens are recognised where the program wrote them, whole, and nowhere else. */
static void typed_not_control(void **state)
{
    struct wanted with_begin = bpe;
    struct opened o;
    struct prompt p = {0};

    (void)state;
    opened_make(&o, &bpe);
    prompt_add(&p, "<s>");
    prompt_add_typed(&p, "a<e>b", 5);
    prompt_add(&p, "<e>");
    prompt_check(o.t, &p, TOKENS(BEGIN, A, B, END));
    prompt_add_typed(&p, "<e", 2);
    prompt_add(&p, ">a");
    prompt_check(o.t, &p, TOKENS(A));
    prompt_add(&p, "<");
    prompt_add_typed(&p, "e>", 2);
    prompt_check(o.t, &p, NO_TOKENS);
    prompt_add_typed(&p, "", 0);
    prompt_add(&p, "<e>");
    prompt_add_typed(&p, "<u>", 3);
    prompt_add_typed(&p, "<e>", 3);
    prompt_check(o.t, &p, TOKENS(END, USER));
    /* Words are not cut where a typed piece begins. */
    prompt_add(&p, "a");
    prompt_add_typed(&p, "b", 1);
    prompt_add(&p, "c");
    prompt_check(o.t, &p, TOKENS(ABC));
    prompt_check(o.t, &p, NO_TOKENS);
    opened_end(&o);

    with_begin.add_begin = true;
    opened_make(&o, &with_begin);
    prompt_add(&p, "a");
    prompt_check(o.t, &p, TOKENS(BEGIN, A));
    prompt_add(&p, "<s>a");
    prompt_check(o.t, &p, TOKENS(BEGIN, A));
    prompt_add_typed(&p, "<s>a", 4);
    prompt_check(o.t, &p, TOKENS(BEGIN, A));
    prompt_check(o.t, &p, TOKENS(BEGIN));
    opened_end(&o);
}

/* A word of a million letters, and a million blanks, end in time. */
static void long_texts_end(void **state)
{
    static char text[1 << 20];
    struct opened o;

    (void)state;
    opened_make(&o, &bpe);
    memset(text, 'a', sizeof(text));
    assert_int_equal(tokenizer_encode(o.t, text, sizeof(text), true, NULL, 0), sizeof(text));
    memset(text, ' ', sizeof(text));
    assert_int_equal(tokenizer_encode(o.t, text, sizeof(text), true, NULL, 0), sizeof(text));
    memset(text, '<', sizeof(text));
    assert_int_equal(tokenizer_encode(o.t, text, sizeof(text), true, NULL, 0), 0);
    opened_end(&o);
    opened_make(&o, &spm);
    memset(text, 'b', sizeof(text));
    assert_int_equal(tokenizer_encode(o.t, text, sizeof(text), true, NULL, 0), sizeof(text) + 1);
    opened_end(&o);
}

/* A vocabulary as large models have, with thousands of tokens that are found as they are. */
static void many_put(int specials)
{
    char name[32];

    written_head(&w, 3, 0, 5);
    written_key(&w, "tokenizer.ggml.model", GGUF_KIND_TEXT);
    written_text(&w, "gpt2");
    written_key(&w, "tokenizer.ggml.pre", GGUF_KIND_TEXT);
    written_text(&w, "qwen2");
    written_array(&w, "tokenizer.ggml.tokens", GGUF_KIND_TEXT, (uint64_t)specials + 3);
    written_text(&w, "a");
    written_text(&w, "<");
    written_text(&w, "a<");
    for (int i = 0; i < specials; i++) {
        snprintf(name, sizeof(name), "<unused%d>", i);
        written_text(&w, name);
    }
    written_array(&w, "tokenizer.ggml.token_type", GGUF_KIND_I32, (uint64_t)specials + 3);
    for (int i = 0; i < specials + 3; i++)
        written_u32(&w, i < 3 ? TOKEN_NORMAL : i % 2 ? TOKEN_USER : TOKEN_CONTROL);
    written_array(&w, "tokenizer.ggml.merges", GGUF_KIND_TEXT, 1);
    written_text(&w, "a <");
}

static double processor_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A client chooses the text: 4 MiB of it are refused in little time of the processor. */
static void too_long_ends_soon(void **state)
{
    static const char *const pieces[] = {"<", "<unused", "<unused1",  "<unused63",
                                         "a", "a<",      "<unused1>", "<unused2>"};
    enum { SIZE = 4 << 20, CONTEXT = 4096, PROCESSOR_MS = 50 };
    static char text[SIZE];
    static int32_t tokens[CONTEXT];
    char path[64], error[512];
    struct tokenizer *t;
    struct gguf *g;

    (void)state;
    many_put(6400);
    g = written_open(&w, path, error);
    t = g ? tokenizer_new(g, error, sizeof(error)) : NULL;
    if (!t)
        fail_msg("%s", error);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        for (int is_typed = 0; is_typed < 2; is_typed++) {
            size_t length = strlen(pieces[i]);
            struct prompt p = {0};
            double begin;

            for (size_t at = 0; at < SIZE; at++)
                text[at] = pieces[i][at % length];
            if (is_typed)
                prompt_add_typed(&p, text, SIZE);
            else
                prompt_add_bytes(&p, text, SIZE);
            begin = processor_ms();
            assert_int_equal(tokenizer_encode_prompt(t, &p, tokens, CONTEXT), CONTEXT + 1);
            if (processor_ms() - begin > PROCESSOR_MS)
                fail_msg("\"%s\" takes %.0f ms", pieces[i], processor_ms() - begin);
            prompt_free(&p);
        }
    }
    tokenizer_free(t);
    gguf_close(g);
}

static const struct wanted nested = {
    .model = "gpt2",
    .pre = "qwen2",
    .tokens = {"a", "b", "<", "ab", "<a", "<b", "<ab", "<abab", "<ba", "b<b", "aab<"},
    .types = {1, 1, 1, 1, 4, 3, 4, 3, 4, 4, 3},
    .merges = {"a b"},
    .begin = -1,
    .end = -1,
};

/* The token that is found at the beginning of a text; -1. */
static int32_t nested_at(const char *text, bool is_typed)
{
    int32_t found = -1;

    for (int32_t i = 4; i < 11; i++) {
        bool fits = strncmp(text, nested.tokens[i], strlen(nested.tokens[i])) == 0;

        if (fits && (nested.types[i] == TOKEN_USER || !is_typed) &&
            (found < 0 || strlen(nested.tokens[i]) > strlen(nested.tokens[found])))
            found = i;
    }
    return found;
}

/* The longest one of tokens that begin with each other is found, in each of 3^8 texts. */
static void longest_is_found(void **state)
{
    struct opened o;

    (void)state;
    opened_make(&o, &nested);
    for (int number = 0; number < 6561; number++) {
        int32_t tokens[TOKENS_MOST];
        char text[9] = "";
        int64_t count;

        for (int i = 0, rest = number; i < 8; i++, rest /= 3)
            text[i] = "ab<"[rest % 3];
        for (int is_typed = 0; is_typed < 2; is_typed++) {
            int64_t k = 0;

            count = tokenizer_encode(o.t, text, 8, !is_typed, tokens, TOKENS_MOST);
            for (size_t i = 0; i < 8;) {
                int32_t found = nested_at(text + i, is_typed);

                if (found < 0) {
                    i++;
                    continue;
                }
                while (k < count && tokens[k] < 4)
                    k++;
                if (k == count || tokens[k] != found)
                    fail_msg("%s: token %d is not found", text, found);
                i += strlen(nested.tokens[found]);
                k++;
            }
        }
    }
    opened_end(&o);
}

static void refused_check(const struct wanted *v, const char *sentence)
{
    struct opened o;

    opened_try(&o, v);
    if (o.t || !strstr(o.error, sentence))
        fail_msg("expected: %s; %s", sentence, o.t ? "it was taken" : o.error);
    opened_end(&o);
}

static void damaged_refuse(void **state)
{
    struct wanted v;

    (void)state;
    v = bpe, v.model = "bert";
    refused_check(&v,
                  "has a tokenizer of kind \"bert\" (tokenizer.ggml.model); llm knows gpt2 and");
    v = bpe, v.pre = "tekken";
    refused_check(&v, "cuts text by the pattern tekken (tokenizer.ggml.pre); llm knows qwen2, ");
    v = bpe, memset(v.merges, 0, sizeof(v.merges));
    refused_check(&v, "has no merges: key tokenizer.ggml.merges is missing");
    v = bpe, v.merges[1] = "abc";
    refused_check(&v, "merge 1, \"abc\", does not join two tokens to a third");
    v = bpe, v.merges[1] = "b c";
    refused_check(&v, "merge 1, \"b c\", does not join two tokens to a third");
    v = bpe, v.merges[1] = "";
    refused_check(&v, "merge 1, \"\", does not join");
    v = bpe, v.tokens[3] = "a";
    refused_check(&v, "tokens 0 and 3 have the same text, a");
    v = bpe, v.types[2] = 7;
    refused_check(&v, "token 2 is of a type that GGUF does not have");
    v = bpe, v.types_less = 1;
    refused_check(&v, "has 11 tokens, and types of 10");
    v = spm, v.scores_less = 2;
    refused_check(&v, "has 12 tokens, and scores of 10");
    v = spm, v.scores[4] = __builtin_nanf("");
    refused_check(&v, "the score of token 4 is no number");
    v = spm, memset(v.tokens, 0, sizeof(v.tokens));
    refused_check(&v, "has 0 tokens; 1 to 1048576 are allowed");
}

/* Numbers of tokens that are not there count as none. */
static void far_tokens_forget(void **state)
{
    struct wanted v = bpe;
    struct opened o;

    (void)state;
    v.begin = 11;
    v.end = 1 << 30;
    v.add_begin = true;
    opened_make(&o, &v);
    assert_int_equal(tokenizer_begin_token(o.t), -1);
    assert_int_equal(tokenizer_end_token(o.t), -1);
    opened_end(&o);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bpe_encode),        cmocka_unit_test(spm_encode),
        cmocka_unit_test(pieces_give),       cmocka_unit_test(typed_not_control),
        cmocka_unit_test(long_texts_end),    cmocka_unit_test(damaged_refuse),
        cmocka_unit_test(far_tokens_forget), cmocka_unit_test(too_long_ends_soon),
        cmocka_unit_test(longest_is_found),
    };

    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
