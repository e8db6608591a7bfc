/* SPDX-License-Identifier: MIT */
#include "common/text/text_json.h"

#include <stdlib.h>
#include <string.h>

json_t *text_json(const char *text)
{
    json_t *value = json_string(text);
    char *plain = value ? NULL : strdup(text);

    for (char *at = plain; at && *at; at++) {
        if (*at & 0x80)
            *at = '?';
    }
    if (plain)
        value = json_string(plain);
    free(plain);
    return value;
}
