/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/node_list.h"

#include "common/text/number.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/host_list.h"

#include <stdlib.h>
#include <string.h>

static int text_refuse(const char *text, struct fault *why)
{
    char shown[TEXT_SHOWN];

    return fault_set(why, ML_ERR_ARGUMENT, "cannot parse '%s'", text_show(shown, text));
}

static int name_expand(struct string_list *out, const char *name, size_t limit, struct fault *why);

/* Adds the name with the number `n`, at least `digits` long, between its two other parts. */
static int number_expand(struct string_list *out, const char *name, int before, int64_t n,
                         int digits, const char *behind, size_t limit, struct fault *why)
{
    char *one = NULL;
    int rc = string_format(&one, why, "%.*s%0*lld%s", before, name, digits, (long long)n, behind);

    if (!rc)
        rc = name_expand(out, one, limit, why);
    free(one);
    return rc;
}

static bool char_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "a" or "a-c". */
static int letters_expand(struct string_list *out, const char *name, int before, const char *range,
                          const char *behind, size_t limit, struct fault *why)
{
    char first = range[0], last = first;
    int rc = 0;

    if (range[1])
        last = range[2];
    if ((range[1] && (range[1] != '-' || !char_is_letter(last) || range[3])) || last < first)
        return text_refuse(name, why);
    for (int letter = (unsigned char)first; letter <= last && !rc; letter++) {
        char *one = NULL;

        rc = string_format(&one, why, "%.*s%c%s", before, name, letter, behind);
        if (!rc)
            rc = name_expand(out, one, limit, why);
        free(one);
    }
    return rc;
}

/* "01-03", "7" or "a-c" of the brackets in `name`. */
static int range_expand(struct string_list *out, const char *name, int before, char *range,
                        const char *behind, size_t limit, struct fault *why)
{
    char *dash = strchr(range, '-'), *last = dash ? dash + 1 : range;
    int64_t from, to;
    int rc = 0;

    if (char_is_letter(*range))
        return letters_expand(out, name, before, range, behind, limit, why);
    if (dash)
        *dash = '\0';
    if (strlen(range) > 9 || !number_parse(range, 0, 999999999, &from) ||
        !number_parse(last, from, 999999999, &to))
        return text_refuse(name, why);
    for (; from <= to && !rc; from++)
        rc = number_expand(out, name, before, from, (int)strlen(range), behind, limit, why);
    return rc;
}

/* Bytes before and behind the first brackets of a name, which are copied for each of its numbers.
 * What is in them may be long: a job that got single hosts of a busy cluster has hundreds there. */
enum { AROUND_MOST = 4096 };

/* Expands the first brackets of a name; the recursion expands further ones. */
static int name_expand(struct string_list *out, const char *name, size_t limit, struct fault *why)
{
    const char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;
    char *ranges, *rest, *range;
    int rc = 0;

    if (out->count >= limit)
        return fault_set(why, ML_ERR_ARGUMENT, "more than %zu hosts", limit);
    if (!open)
        return *name && !strchr(name, ']') ? string_list_add(out, name, why)
                                           : text_refuse(name, why);
    if (!close || open - name > AROUND_MOST || strlen(close) > AROUND_MOST)
        return text_refuse(name, why);
    rest = ranges = strndup(open + 1, (size_t)(close - open - 1));
    if (!ranges)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    while (!rc && (range = strsep(&rest, ",")))
        rc = range_expand(out, name, (int)(open - name), range, close + 1, limit, why);
    free(ranges);
    return rc;
}

const char *node_list_end(const char *text)
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
        const char *end = node_list_end(text);
        char *name = strndup(text, (size_t)(end - text));

        if (!name)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        rc = name_expand(out, name, limit, why);
        free(name);
        if (!*end)
            break;
        text = end + 1;
    }
    return rc;
}

/* "4(x3)" or "2". */
static bool count_parse(const char *entry, int64_t *slots, int64_t *times)
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

static int counts_fill(int *out, size_t count, const char *whole, char *text, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t slots = 1, times;
    size_t n = 0;
    char *entry;

    while ((entry = strsep(&text, ","))) {
        if (!count_parse(entry, &slots, &times))
            return text_refuse(entry, why);
        for (; times > 0 && n < count; times--)
            out[n++] = (int)slots;
        if (times > 0)
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' describes more than %zu host%s",
                             text_show(shown, whole), count, count == 1 ? "" : "s");
    }
    if (n != 1 && n != count)
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' describes %zu of %zu hosts",
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
        rc = counts_fill(counts, count, text, copy, why);
    free(copy);
    if (rc)
        free(counts);
    else
        *out = counts;
    return rc;
}
