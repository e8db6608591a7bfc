/* SPDX-License-Identifier: MIT */
/* json_text.h: bytes that need not be UTF-8, such as names and sentences that have been cut, as a JSON string. */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include <jansson.h>

/* JSON can't hold what is no UTF-8: each of such a text's bytes above 127 becomes '?'. NULL: out of memory. */
json_t *json_text(const char *text);

#endif
