/* SPDX-License-Identifier: MIT */
/* object_field.h: the members of a JSON object that something else has made: they may be missing or
 * of another type, and so may the object. */
#ifndef COMMON_TEXT_OBJECT_FIELD_H
#define COMMON_TEXT_OBJECT_FIELD_H

#include <jansson.h>

/* "" if `object` has no such string. Valid as long as the object. */
const char *object_field_text(const json_t *object, const char *key);
/* 0 if `object` has no such number. */
long long object_field_whole(const json_t *object, const char *key);
double object_field_number(const json_t *object, const char *key);

#endif
