/* SPDX-License-Identifier: MIT */
#include "launcher/slurm_list.h"
#include "common/number.h"
#include "launcher/hostfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int malformed(const char *text, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not understood", text);
}

static int expand_name(struct string_list *out, const char *name, size_t limit, struct fault *why);

/* One number with the digits that it was written with, between what stands before and behind. */
static int expand_one(struct string_list *out, const char *name, int before, int64_t n, int digits,
                      const char *behind, size_t limit, struct fault *why)
{
    char *one = NULL;
    int rc = string_format(&one, why, "%.*s%0*lld%s", before, name, digits, (long long)n, behind);

    if (!rc)
        rc = expand_name(out, one, limit, why);
    free(one);
    return rc;
}

/* "01-03" or "7" of the brackets in `name`. */
static int expand_range(struct string_list *out, const char *name, int before, char *range,
                        const char *behind, size_t limit, struct fault *why)
{
    char *dash = strchr(range, '-'), *last = dash ? dash + 1 : range;
    int64_t from, to;
    int rc = 0;

    if (dash)
        *dash = '\0';
    if (strlen(range) > 9 || !number_parse(range, 0, 999999999, &from) ||
        !number_parse(last, from, 999999999, &to))
        return malformed(name, why);
    for (; from <= to && !rc; from++)
        rc = expand_one(out, name, before, from, (int)strlen(range), behind, limit, why);
    return rc;
}

/* The first brackets of a name are written out here, further ones by the recursion. */
static int expand_name(struct string_list *out, const char *name, size_t limit, struct fault *why)
{
    const char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;
    char *ranges, *rest, *range;
    int rc = 0;

    if (out->count >= limit)
        return fault_set(why, ML_ERR_ARGUMENT, "more than %zu hosts", limit);
    if (!open)
        return *name && !strchr(name, ']') ? string_list_add(out, name, why) : malformed(name, why);
    if (!close || strlen(name) > 1024)
        return malformed(name, why);
    rest = ranges = strndup(open + 1, (size_t)(close - open - 1));
    if (!ranges)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    while (!rc && (range = strsep(&rest, ",")))
        rc = expand_range(out, name, (int)(open - name), range, close + 1, limit, why);
    free(ranges);
    return rc;
}

/* The end of the name at `text`: a ',' outside of brackets, or the end. */
static const char *name_end(const char *text)
{
    bool inside = false;

    for (; *text && (inside || *text != ','); text++)
        inside = *text == '[' || (inside && *text != ']');
    return text;
}

int slurm_expand_hosts(struct string_list *out, const char *text, size_t limit, struct fault *why)
{
    int rc = 0;

    while (!rc) {
        const char *end = name_end(text);
        char *name = strndup(text, (size_t)(end - text));

        if (!name)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        rc = expand_name(out, name, limit, why);
        free(name);
        if (!*end)
            break;
        text = end + 1;
    }
    return rc;
}

/* "4(x3)" or "2". */
static bool parse_count(char *entry, int64_t *slots, int64_t *times)
{
    char *paren = strstr(entry, "(x"), *end;

    *times = 1;
    if (paren) {
        end = strchr(paren, ')');
        if (!end || end[1])
            return false;
        *end = *paren = '\0';
        if (!number_parse(paren + 2, 1, HOSTS_LIMIT, times))
            return false;
    }
    return number_parse(entry, 1, SLOTS_LIMIT, slots);
}

static int fill_counts(int *out, size_t count, char *text, struct fault *why)
{
    int64_t slots = 1, times;
    size_t n = 0;
    char *entry;

    while ((entry = strsep(&text, ","))) {
        if (!parse_count(entry, &slots, &times))
            return malformed(entry, why);
        for (; times > 0 && n < count; times--)
            out[n++] = (int)slots;
        if (times > 0)
            return fault_set(why, ML_ERR_ARGUMENT, "has slots for more than the %zu hosts", count);
    }
    if (n != 1 && n != count)
        return fault_set(why, ML_ERR_ARGUMENT, "has slots for %zu of %zu hosts", n, count);
    for (; n < count; n++)
        out[n] = out[0];
    return 0;
}

int slurm_expand_counts(int **out, size_t count, const char *text, struct fault *why)
{
    int *counts = calloc(count ? count : 1, sizeof(*counts)), rc;
    char *copy = strdup(text);

    if (!counts || !copy)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else
        rc = fill_counts(counts, count, copy, why);
    free(copy);
    if (rc)
        free(counts);
    else
        *out = counts;
    return rc;
}
