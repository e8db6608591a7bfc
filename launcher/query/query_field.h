/* SPDX-License-Identifier: MIT */
/* query_field.h: the members of an agent's answer, which may lack them or give them another type. */
#ifndef LAUNCHER_QUERY_QUERY_FIELD_H
#define LAUNCHER_QUERY_QUERY_FIELD_H

#include <jansson.h>

/* "" if `object` has no such string. Valid as long as the answer. */
const char *query_field_text(json_t *object, const char *key);
/* 0 if `object` has no such number. */
long long query_field_whole(json_t *object, const char *key);
double query_field_number(json_t *object, const char *key);

#endif
