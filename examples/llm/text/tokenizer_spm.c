/* SPDX-License-Identifier: MIT */
#include "tokenizer_spm.h"

#include "token_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blank[] = "\xe2\x96\x81"; /* U+2581 */
enum { BLANK = sizeof(blank) - 1 };

/* The text with its blanks as the vocabulary writes them; the caller frees it. */
static char *blanks_write(const char *text, size_t length, bool has_blank, size_t *size)
{
    size_t blanks = has_blank ? 1 : 0;
    char *out, *at;

    for (size_t i = 0; i < length; i++)
        blanks += text[i] == ' ';
    *size = length - (blanks - (has_blank ? 1 : 0)) + blanks * BLANK;
    out = at = malloc(*size + 1);
    if (!out)
        return NULL;
    if (has_blank)
        at = mempcpy(at, blank, BLANK);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ')
            at = mempcpy(at, blank, BLANK);
        else
            *at++ = text[i];
    }
    return out;
}

static bool pair_find(const void *of, const struct merge_part *left, const struct merge_part *right,
                      double *order, int32_t *token)
{
    const struct vocabulary *v = of;

    *token = vocabulary_find(v, left->text, (size_t)left->length + right->length);
    if (*token < 0)
        return false;
    *order = -(double)v->tokens[*token].score;
    return true;
}

/* "<0x0A>", else the byte itself, else the token for what is unknown. */
static int32_t byte_token(const struct vocabulary *v, char byte)
{
    char name[8];
    int32_t token;

    snprintf(name, sizeof(name), "<0x%02X>", (unsigned char)byte);
    token = vocabulary_find(v, name, 6);
    return token >= 0 ? token : vocabulary_find(v, &byte, 1);
}

static void part_put(const struct vocabulary *v, const struct merge_part *part,
                     struct token_list *out)
{
    if (part->token >= 0) {
        token_list_add(out, part->token);
        return;
    }
    for (uint32_t i = 0; i < part->length; i++) {
        int32_t token = byte_token(v, part->text[i]);

        if (token >= 0)
            token_list_add(out, token);
    }
}

static size_t character_size(const char *text)
{
    unsigned char first = (unsigned char)*text;

    return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

bool tokenizer_spm_encode(const struct vocabulary *v, const char *text, size_t length,
                          bool has_blank, struct token_list *out)
{
    struct token_merge m = {0};
    size_t size, step;
    char *written = blanks_write(text, length, has_blank, &size);
    bool is_done = written != NULL;

    for (size_t i = 0; is_done && i < size; i += step) {
        step = character_size(written + i);
        if (step > size - i)
            step = size - i;
        is_done = token_merge_add(&m, written + i, step, vocabulary_find(v, written + i, step));
    }
    is_done = is_done && token_merge_run(&m, pair_find, v);
    for (int32_t i = 0; is_done && m.count > 0 && i >= 0; i = m.parts[i].next)
        part_put(v, &m.parts[i], out);
    token_merge_free(&m);
    free(written);
    return is_done;
}
