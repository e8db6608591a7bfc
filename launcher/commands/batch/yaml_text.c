/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/yaml_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 2 /* blanks that a level is further in */ };

/* Whether YAML takes the character only as an escape, though JSON takes it as it is. */
static bool is_special(uint32_t c)
{
    return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
           c == 0xffff;
}

/* Reads a character of valid UTF-8, which has at most three bytes if it is special. */
static uint32_t character_read(const unsigned char *at, int *size)
{
    *size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (*size == 1)
        return at[0];
    if (*size == 2)
        return (uint32_t)(at[0] & 0x1f) << 6 | (at[1] & 0x3f);
    return *size == 4
               ? 0x10000
               : (uint32_t)(at[0] & 0x0f) << 12 | (uint32_t)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
}

static void scalar_write(FILE *to, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    int size;

    for (const char *at = text; at && *at; at += size) {
        uint32_t c = character_read((const unsigned char *)at, &size);

        if (is_special(c))
            fprintf(to, "\\u%04x", (unsigned)c);
        else
            fwrite(at, 1, (size_t)size, to);
    }
    fputc('\n', to);
    free(text);
}

static void value_write(FILE *to, const json_t *value, int depth);

/* The first member follows a "- " on its line. */
static void object_write(FILE *to, const json_t *object, int depth, bool is_item)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        fprintf(to, "%*s%s:", is_item ? 0 : depth * STEP, "", name);
        value_write(to, value, depth);
        is_item = false;
    }
}

static void value_write(FILE *to, const json_t *value, int depth)
{
    json_t *item;
    size_t i;

    if (json_object_size(value) > 0) {
        fputc('\n', to);
        object_write(to, value, depth + 1, false);
    } else if (json_array_size(value) > 0) {
        fputc('\n', to);
        json_array_foreach(value, i, item)
        {
            fprintf(to, "%*s-", (depth + 1) * STEP, "");
            if (json_object_size(item) > 0) {
                fputc(' ', to);
                object_write(to, item, depth + 2, true);
            } else {
                value_write(to, item, depth + 1);
            }
        }
    } else {
        fputc(' ', to);
        scalar_write(to, value);
    }
}

void yaml_write(FILE *to, const json_t *object)
{
    object_write(to, object, 0, false);
}
