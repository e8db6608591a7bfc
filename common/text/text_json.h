/* SPDX-License-Identifier: MIT */
/* text_json.h: JSON strings from text that may not be UTF-8, such as file names and sentences that
 * were cut. */
#ifndef COMMON_TEXT_TEXT_JSON_H
#define COMMON_TEXT_TEXT_JSON_H

#include <jansson.h>

/* Returns a JSON string. If `text` is not UTF-8, which JSON cannot hold, each byte above 127
 * becomes '?'. NULL: out of memory. */
json_t *text_json(const char *text);

#endif
