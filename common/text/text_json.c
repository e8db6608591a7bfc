/* SPDX-License-Identifier: MIT */
#include "common/text/text_json.h"

#include "common/text/printable.h"
#include "common/text/utf8.h"

#include <stdlib.h>
#include <string.h>

json_t *text_json(const char *text)
{
    json_t *value = json_string(text);
    char *plain = value ? NULL : strdup(text);
    uint32_t code;

    for (char *at = plain; at && *at;) {
        size_t size = utf8_read(at, &code);

        if (!size)
            *at = '?';
        at += size ? size : 1;
    }
    if (plain)
        value = json_string(plain);
    free(plain);
    return value;
}

void text_json_print(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;

    printable_print("%s\n", text ? text : "{}");
    free(text);
    json_decref(root);
}
