/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/yaml_text.h"

#include "common/text/utf8.h"

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

static void scalar_write(FILE *to, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    size_t size;
    uint32_t c;

    for (const char *at = text; at && *at && (size = utf8_read(at, &c)) > 0; at += size) {
        if (is_special(c))
            fprintf(to, "\\u%04x", (unsigned)c);
        else
            fwrite(at, 1, size, to);
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
