/* SPDX-License-Identifier: MIT */
/* text_json.h: JSON strings from text that may not be UTF-8, such as file names and sentences that
 * were cut. */
#ifndef COMMON_TEXT_TEXT_JSON_H
#define COMMON_TEXT_TEXT_JSON_H

#include <jansson.h>

/* Returns a JSON string. Each byte that is part of no UTF-8 character, which JSON cannot hold,
 * becomes '?'. NULL: out of memory. */
json_t *text_json(const char *text);

/* Prints `root`, which it takes over, to stdout, indented and as printable_print() does, because
 * texts in it, even keys, may be another host's. "{}" if memory is short. */
void text_json_print(json_t *root);

#endif
