/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/option_value.h"

#include "common/text/number.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void *option_value_field(void *to, const struct option *spec)
{
    return (char *)to + spec->field;
}

int option_value_number(void *to, const struct option *spec, const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t n;

    if (!number_parse(value, spec->min, spec->max, &n))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not a whole number from %" PRId64 " to %" PRId64,
                         text_show(shown, value), spec->min, spec->max);
    *(int *)option_value_field(to, spec) = (int)n;
    return 0;
}

int option_value_text(void *to, const struct option *spec, const char *value, struct fault *why)
{
    char **field = option_value_field(to, spec), *copy = NULL;
    int rc = spec->check ? spec->check(value, why) : 0;

    if (rc)
        return rc;
    if (!*value)
        return fault_set(why, ML_ERR_ARGUMENT, "the value is empty");
    rc = string_copy(&copy, value, why);
    if (rc)
        return rc;
    free(*field);
    *field = copy;
    return 0;
}

/* The words of a table: "a, b or c". */
static void list_choices(char *out, size_t size, const struct named_value *c)
{
    size_t n = 0;

    for (bool first = true; c->word; c++, first = false) {
        bool last = !c[1].word;

        n += (size_t)snprintf(out + n, size - n, "%s%s",
                              first  ? ""
                              : last ? " or "
                                     : ", ",
                              c->word);
    }
}

int option_value_choice(void *to, const struct option *spec, const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN], list[128];

    for (const struct named_value *c = spec->choices; c->word; c++) {
        if (strcmp(c->word, value) != 0)
            continue;
        *(int *)option_value_field(to, spec) = c->value;
        return 0;
    }
    list_choices(list, sizeof(list), spec->choices);
    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not %s", text_show(shown, value), list);
}

int option_value_parse_flag(bool *out, const char *value, struct fault *why)
{
    static const char *const words[] = {"false", "no", "off", "0", "true", "yes", "on", "1"};
    char shown[TEXT_SHOWN];

    if (!value) {
        *out = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcasecmp(words[i], value) == 0) {
            *out = i >= 4;
            return 0;
        }
    }
    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is neither true nor false",
                     text_show(shown, value));
}

int option_value_flag(void *to, const struct option *spec, const char *value, struct fault *why)
{
    return option_value_parse_flag(option_value_field(to, spec), value, why);
}

int option_value_list(void *to, const struct option *spec, const char *value, struct fault *why)
{
    int rc = spec->check ? spec->check(value, why) : 0;

    if (!rc && !*value)
        rc = fault_set(why, ML_ERR_ARGUMENT, "the value is empty");
    return rc ? rc : string_list_add(option_value_field(to, spec), value, why);
}

void option_value_clear(void *of, const struct option *spec)
{
    if (spec->is_text)
        free(*(char **)option_value_field(of, spec));
    else if (spec->set == option_value_list)
        string_list_clear(option_value_field(of, spec));
}
