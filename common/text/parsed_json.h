/* SPDX-License-Identifier: MIT */
/* parsed_json.h: JSON from text, also where memory ends: if jansson 2.14 cannot enlarge its buffer
 * for a token, it reads and writes beyond it. */
#ifndef COMMON_TEXT_PARSED_JSON_H
#define COMMON_TEXT_PARSED_JSON_H

#include <jansson.h>
#include <stddef.h>

/* As json_loadb(). Without memory it returns NULL, leaks nothing, and error->text says so, as does
 * json_error_code(). */
json_t *parsed_json(const char *text, size_t size, size_t flags, json_error_t *error);

#endif
