/* SPDX-License-Identifier: MIT */
#include "bpe_pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    STAGES_MOST = 4,
    STEPS_MOST = 50 * 1000 * 1000, /* the matcher's, for one word */
    MEMORY_MOST = 64 * 1024,       /* KiB, for one word */
};

/* Unicode's White_Space, inside brackets. PCRE2's own \s has U+180E too. */
#define SPACE                                                                                      \
    "\\t-\\r "                                                                                     \
    "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define SYMBOLS " ?[^" SPACE "\\p{L}\\p{N}]+"
#define SPACES  "[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+"
#define GPT_2   "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|" SYMBOLS "|" SPACES
/* DIGITS: how many are a word. */
#define LLAMA_3(DIGITS)                                                                            \
    "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS  \
    "|" SYMBOLS "[\\r\\n]*|[" SPACE "]*[\\r\\n]+|" SPACES

/* Each stage cuts what the one before has left whole: its matches, and what is between them. */
struct named_pattern {
    const char *names[4];
    const char *stages[STAGES_MOST];
};

static const struct named_pattern patterns[] = {
    {{"qwen2", "deepseek-r1-qwen", "megrez"}, {LLAMA_3("\\p{N}")}},
    {{"llama-bpe", "llama3", "llama-v3"}, {LLAMA_3("\\p{N}{1,3}")}},
    {{"gpt-2"}, {GPT_2}},
    {{"smollm"}, {"\\p{N}", GPT_2}},
    {{"default"}, {"[\\p{P}$+<=>^~|]+", GPT_2, "\\p{N}+", "[0-9][0-9][0-9]"}},
};
enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

struct bpe_pattern {
    pcre2_code *stages[STAGES_MOST];
    int count;
};

/* One cutting. */
struct cutting {
    const struct bpe_pattern *pattern;
    pcre2_match_context *limits;
    pcre2_match_data *matches[STAGES_MOST];
    bpe_word *word;
    void *of;
};

const char *bpe_pattern_names(void)
{
    return "qwen2, llama-bpe, gpt-2, smollm, default";
}

static const struct named_pattern *pattern_find(const char *name, size_t length)
{
    for (int i = 0; i < PATTERNS; i++) {
        for (int j = 0; j < 4 && patterns[i].names[j]; j++) {
            if (strlen(patterns[i].names[j]) == length &&
                memcmp(patterns[i].names[j], name, length) == 0)
                return &patterns[i];
        }
    }
    return NULL;
}

struct bpe_pattern *bpe_pattern_new(const char *name, size_t length, bool *is_known)
{
    const struct named_pattern *found = pattern_find(name, length);
    struct bpe_pattern *p;
    PCRE2_SIZE where;
    int code;

    *is_known = found;
    p = found ? calloc(1, sizeof(*p)) : NULL;
    if (!p)
        return NULL;
    for (; p->count < STAGES_MOST && found->stages[p->count]; p->count++) {
        p->stages[p->count] = pcre2_compile((PCRE2_SPTR)found->stages[p->count],
                                            PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code, &where, NULL);
        if (!p->stages[p->count]) {
            bpe_pattern_free(p);
            return NULL;
        }
    }
    return p;
}

void bpe_pattern_free(struct bpe_pattern *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->count; i++)
        pcre2_code_free(p->stages[i]);
    free(p);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are stages. */
static bool piece_cut(const struct cutting *c, int stage, const char *text, size_t length)
{
    size_t at = 0;

    if (length == 0)
        return true;
    if (stage == c->pattern->count)
        return c->word(c->of, text, length);
    while (at < length) {
        const PCRE2_SIZE *found;
        int rc = pcre2_match(c->pattern->stages[stage], (PCRE2_SPTR)text, length, at,
                             PCRE2_NO_UTF_CHECK, c->matches[stage], c->limits);

        if (rc == PCRE2_ERROR_NOMATCH)
            return piece_cut(c, stage + 1, text + at, length - at);
        if (rc < 0)
            return false;
        found = pcre2_get_ovector_pointer(c->matches[stage]);
        if (found[1] <= found[0])
            return false;
        if (!piece_cut(c, stage + 1, text + at, found[0] - at) ||
            !piece_cut(c, stage + 1, text + found[0], found[1] - found[0]))
            return false;
        at = found[1];
    }
    return true;
}

bool bpe_pattern_cut(const struct bpe_pattern *p, const char *text, size_t length, bpe_word *word,
                     void *of)
{
    struct cutting c = {.pattern = p, .word = word, .of = of};
    bool is_ready;

    c.limits = pcre2_match_context_create(NULL);
    is_ready = c.limits != NULL;
    for (int i = 0; i < p->count; i++) {
        c.matches[i] = pcre2_match_data_create(1, NULL);
        is_ready = is_ready && c.matches[i];
    }
    if (is_ready) {
        pcre2_set_match_limit(c.limits, STEPS_MOST);
        pcre2_set_heap_limit(c.limits, MEMORY_MOST);
        is_ready = piece_cut(&c, 0, text, length);
    }
    for (int i = 0; i < p->count; i++)
        pcre2_match_data_free(c.matches[i]);
    pcre2_match_context_free(c.limits);
    return is_ready;
}
