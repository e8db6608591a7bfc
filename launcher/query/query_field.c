/* SPDX-License-Identifier: MIT */
#include "launcher/query/query_field.h"

const char *query_field_text(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

long long query_field_whole(json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

double query_field_number(json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}
