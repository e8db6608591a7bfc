/* SPDX-License-Identifier: MIT */
#include "launcher/hosts/node_list.h"
#include "common/number.h"
#include "launcher/hosts/host_list.h"
#include "launcher/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int malformed(const char *text, struct fault *why)
{
    char shown[TEXT_SHOWN];

    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not understood", text_show(shown, text));
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

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "a" or "a-c". */
static int expand_letters(struct string_list *out, const char *name, int before, const char *range,
                          const char *behind, size_t limit, struct fault *why)
{
    char first = range[0], last = first;
    int rc = 0;

    if (range[1])
        last = range[2];
    if ((range[1] && (range[1] != '-' || !is_letter(last) || range[3])) || last < first)
        return malformed(name, why);
    for (int letter = (unsigned char)first; letter <= last && !rc; letter++) {
        char *one = NULL;

        rc = string_format(&one, why, "%.*s%c%s", before, name, letter, behind);
        if (!rc)
            rc = expand_name(out, one, limit, why);
        free(one);
    }
    return rc;
}

/* "01-03", "7" or "a-c" of the brackets in `name`. */
static int expand_range(struct string_list *out, const char *name, int before, char *range,
                        const char *behind, size_t limit, struct fault *why)
{
    char *dash = strchr(range, '-'), *last = dash ? dash + 1 : range;
    int64_t from, to;
    int rc = 0;

    if (is_letter(*range))
        return expand_letters(out, name, before, range, behind, limit, why);
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

int node_list_expand(struct string_list *out, const char *text, size_t limit, struct fault *why)
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
static bool parse_count(const char *entry, int64_t *slots, int64_t *times)
{
    char number[16], repeat[16] = "1";
    const char *paren = strstr(entry, "(x");
    size_t digits = paren ? (size_t)(paren - entry) : strlen(entry);
    size_t length = paren ? strlen(paren) : 0;

    if (digits >= sizeof(number) || length > sizeof(repeat))
        return false;
    memcpy(number, entry, digits);
    number[digits] = '\0';
    if (paren) {
        if (length < 4 || paren[length - 1] != ')')
            return false;
        memcpy(repeat, paren + 2, length - 3);
        repeat[length - 3] = '\0';
    }
    return number_parse(number, 1, SLOTS_LIMIT, slots) &&
           number_parse(repeat, 1, HOSTS_LIMIT, times);
}

static int fill_counts(int *out, size_t count, const char *whole, char *text, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t slots = 1, times;
    size_t n = 0;
    char *entry;

    while ((entry = strsep(&text, ","))) {
        if (!parse_count(entry, &slots, &times))
            return malformed(entry, why);
        for (; times > 0 && n < count; times--)
            out[n++] = (int)slots;
        if (times > 0)
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' is for more than the %zu host%s",
                             text_show(shown, whole), count, count == 1 ? "" : "s");
    }
    if (n != 1 && n != count)
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is for %zu of %zu hosts",
                         text_show(shown, whole), n, count);
    for (; n < count; n++)
        out[n] = out[0];
    return 0;
}

int node_list_counts(int **out, size_t count, const char *text, struct fault *why)
{
    int *counts = calloc(count ? count : 1, sizeof(*counts)), rc;
    char *copy = strdup(text);

    if (!counts || !copy)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else
        rc = fill_counts(counts, count, text, copy, why);
    free(copy);
    if (rc)
        free(counts);
    else
        *out = counts;
    return rc;
}
