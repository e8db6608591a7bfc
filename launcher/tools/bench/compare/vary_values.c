/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/vary_values.h"

#include "launcher/base/text/command_words.h"
#include "launcher/base/text/environment.h"

#include <stdlib.h>
#include <string.h>

static const char options_prefix[] = "MLAUNCH_OPT_";

/* True if `part` is an assignment such as "MLAUNCH_ALGO=ring". */
static bool is_assignment(const char *part)
{
    struct fault why;

    return part[0] != '-' && environment_check(part, &why) == 0;
}

/* The characters of the first part that a later one keeps. */
static size_t kept_of(const char *first)
{
    size_t kept = strlen(first);

    if (is_assignment(first))
        return strcspn(first, "=") + 1;
    while (kept && first[kept - 1] != ' ' && first[kept - 1] != '=')
        kept--;
    return kept;
}

static int name_add(struct vary_values *v, const char *part, struct fault *why)
{
    const char *first = v->count ? v->names[0] : "";
    bool is_whole = !v->count || !part[0] || part[0] == '-' || is_assignment(part);

    return string_format(&v->names[v->count], why, "%.*s%s", is_whole ? 0 : (int)kept_of(first),
                         first, part);
}

static int words_add(struct string_list *words, const char *name, struct fault *why)
{
    int rc;

    if (!name[0])
        return 0;
    if (name[0] == '-')
        return command_words_split(words, name, why);
    if (!is_assignment(name))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--vary: '%.100s' is neither an option nor NAME=VALUE", name);
    if (strncmp(name, options_prefix, sizeof(options_prefix) - 1) == 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--vary: %.100s is for mlaunch, not for the ranks: write the option",
                         name);
    rc = string_list_add(words, "-x", why);
    return rc ? rc : string_list_add(words, name, why);
}

static int part_add(struct vary_values *v, const char *part, struct fault *why)
{
    int rc;

    if (v->count == COMPARISON_MOST)
        return fault_set(why, ML_ERR_ARGUMENT, "--vary: more than %d settings", COMPARISON_MOST);
    rc = name_add(v, part, why);
    if (!rc)
        rc = words_add(&v->words[v->count], v->names[v->count], why);
    v->count += !rc || v->names[v->count]; /* so that it is freed */
    return rc;
}

int vary_values_parse(struct vary_values *out, const char *text, struct fault *why)
{
    struct vary_values v = {0};
    char *copy = NULL, *rest, *part;
    int rc = string_copy(&copy, text, why);

    for (rest = copy; !rc && (part = strsep(&rest, "|"));)
        rc = part_add(&v, part, why);
    if (!rc && v.count < 2)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "--vary: '%.100s' names one setting; separate two or more by '|', such as "
                       "'MLAUNCH_ALGO=ring|direct' or '-x FLAG=1|'",
                       text);
    for (int i = 1; i < v.count && !rc; i++)
        for (int k = 0; k < i && !rc; k++)
            if (strcmp(v.names[i], v.names[k]) == 0)
                rc = fault_set(why, ML_ERR_ARGUMENT, "--vary: two settings are the same, '%.100s'",
                               v.names[i]);
    free(copy);
    if (rc)
        vary_values_clear(&v);
    else
        *out = v;
    return rc;
}

void vary_values_clear(struct vary_values *v)
{
    for (int i = 0; i < v->count; i++) {
        free(v->names[i]);
        string_list_clear(&v->words[i]);
    }
    *v = (struct vary_values){0};
}
