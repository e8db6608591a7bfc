/* SPDX-License-Identifier: MIT */
#include "common/text/object_field.h"

const char *object_field_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

long long object_field_whole(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

double object_field_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}
