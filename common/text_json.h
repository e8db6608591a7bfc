/* SPDX-License-Identifier: MIT */
/* text_json.h: bytes that need not be UTF-8, such as names and sentences that have been cut, as a JSON string. */
#ifndef COMMON_TEXT_JSON_H
#define COMMON_TEXT_JSON_H

#include <jansson.h>

/* JSON can't hold what is no UTF-8: each of such a text's bytes above 127 becomes '?'. NULL: out of memory. */
json_t *text_json(const char *text);

#endif
