/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/host_member.h"

#include "launcher/base/text/environment.h"
#include "launcher/base/text/nearest.h"
#include "launcher/base/text/text_file.h"

#include <stdlib.h>
#include <string.h>

enum { IGNORED_LIMIT = 16 }; /* names that get a warning each */

const char *host_member_type(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}

int host_member_mistyped(struct fault *why, const char *name, const char *wanted,
                         const json_t *value)
{
    return fault_set(why, ML_ERR_ARGUMENT, "%s: must be %s, not %s", name, wanted,
                     host_member_type(value));
}

int host_member_unknown(const json_t *object, const char *const *known, struct string_list *ignored,
                        struct fault *why)
{
    char shown[TEXT_SHOWN];
    int rc;

    for (void *i = json_object_iter((json_t *)object); i;
         i = json_object_iter_next((json_t *)object, i)) {
        const char *key = json_object_iter_key(i), *near = nearest_word(key, known);

        if (strings_has((char *const *)known, key))
            continue;
        if (near)
            return fault_set(why, ML_ERR_ARGUMENT, "unknown member \"%s\"; did you mean \"%s\"?",
                             text_show(shown, key), near);
        if (!strings_has(ignored->items, key) && ignored->count < IGNORED_LIMIT &&
            (rc = string_list_add(ignored, key, why)))
            return rc;
    }
    return 0;
}

int host_member_strings(struct string_list *out, const json_t *value, const char *wanted,
                        int (*check)(const char *text, struct fault *why), struct fault *why)
{
    int rc;

    if (!json_is_array(value))
        return fault_set(why, ML_ERR_ARGUMENT, "must be %s, not %s", wanted,
                         host_member_type(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);

        if (!json_is_string(item))
            return fault_set(why, ML_ERR_ARGUMENT, "entry %zu must be a string, not %s", i,
                             host_member_type(item));
        if ((rc = check(json_string_value(item), why)))
            return fault_wrap(why, "entry %zu", i);
        if ((rc = string_list_add(out, json_string_value(item), why)))
            return rc;
    }
    return 0;
}

static int assignment_add(struct string_list *out, const char *name, const json_t *value,
                          struct fault *why)
{
    char shown[TEXT_SHOWN], *text = NULL;
    int rc;

    text_show(shown, name);
    if (!json_is_string(value))
        return host_member_mistyped(why, shown, "a string", value);
    if (strchr(name, '='))
        return fault_set(why, ML_ERR_ARGUMENT, "the variable's name '%s' contains '='", shown);
    if ((rc = string_format(&text, why, "%s=%s", name, json_string_value(value))))
        return rc;
    rc = environment_check(text, why);
    if (!rc)
        rc = string_list_add(out, text, why);
    free(text);
    return rc;
}

int host_member_environment(struct string_list *out, const json_t *value, struct fault *why)
{
    int rc = 0;

    if (!json_is_object(value))
        return host_member_strings(out, value, "a list of \"NAME=VALUE\" or an object",
                                   environment_check, why);
    for (void *i = json_object_iter((json_t *)value); i && !rc;
         i = json_object_iter_next((json_t *)value, i))
        rc = assignment_add(out, json_object_iter_key(i), json_object_iter_value(i), why);
    return rc;
}
