/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/name_ranges.h"

#include "common/text/text_stream.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name in three parts: n1-ib is "n", "1" and "-ib"; a name without a number is all prefix. */
struct parted_name {
    const char *name;
    size_t prefix, digits;
    long number;
};

enum { DIGITS_MOST = 9 };

static struct parted_name name_part(const char *name)
{
    bool is_address = name[strspn(name, "0123456789.")] == '\0';
    size_t end = is_address ? strlen(name) : strcspn(name, ".");
    struct parted_name n = {.name = name};

    if (name[0] && !name[1] && isalpha((unsigned char)name[0])) {
        n.number = (unsigned char)name[0];
        return n;
    }
    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    n.prefix = end;
    while (n.prefix > 0 && isdigit((unsigned char)name[n.prefix - 1]))
        n.prefix--;
    n.digits = end - n.prefix;
    if (n.digits == 0 || n.digits > DIGITS_MOST) {
        n.prefix = strlen(name);
        n.digits = 0;
    } else {
        n.number = strtol(name + n.prefix, NULL, 10);
    }
    return n;
}

static const char *suffix_of(const struct parted_name *n)
{
    return n->name + n->prefix + n->digits;
}

static bool is_letter(const struct parted_name *n)
{
    return n->prefix == 0 && n->digits == 0;
}

static int compare(const void *a, const void *b)
{
    const struct parted_name *x = a, *y = b;
    size_t prefix = x->prefix < y->prefix ? x->prefix : y->prefix;
    int order = strncmp(x->name, y->name, prefix);

    if (!order)
        order = (x->prefix > y->prefix) - (x->prefix < y->prefix);
    if (!order && !is_letter(x) && !is_letter(y))
        order = strcmp(suffix_of(x), suffix_of(y));
    if (!order)
        order = (x->digits > y->digits) - (x->digits < y->digits);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Whether both are written in one pair of brackets. */
static bool are_alike(const struct parted_name *a, const struct parted_name *b)
{
    return a->digits > 0 && b->digits > 0 && a->prefix == b->prefix &&
           strncmp(a->name, b->name, a->prefix) == 0 && strcmp(suffix_of(a), suffix_of(b)) == 0;
}

/* Whether b continues a range that ends with a: 9 is followed by 10, and 09 by 10, but not by
 * 010. */
static bool is_next(const struct parted_name *a, const struct parted_name *b)
{
    bool is_padded = a->digits > 1 && a->name[a->prefix] == '0';

    if (is_letter(a) || is_letter(b))
        return is_letter(a) && is_letter(b) && b->number == a->number + 1;
    return are_alike(a, b) && b->number == a->number + 1 &&
           (a->digits == b->digits || (!is_padded && b->name[b->prefix] != '0'));
}

/* "1-3": the varying parts of the names from `first` to `last`. */
static void range_write(FILE *to, const struct parted_name *first, const struct parted_name *last)
{
    size_t size = is_letter(first) ? 1 : first->digits;

    fprintf(to, "%.*s", (int)size, first->name + first->prefix);
    if (last != first)
        fprintf(to, "%c%.*s", last == first + 1 ? ',' : '-',
                (int)(is_letter(last) ? 1 : last->digits), last->name + last->prefix);
}

/* Writes names[at] and those that go into its brackets; returns the index of the next one. */
static size_t group_write(FILE *to, const struct parted_name *names, size_t at, size_t count)
{
    const struct parted_name *first = &names[at];
    bool has_brackets = at + 1 < count && are_alike(first, &names[at + 1]);

    if (!is_letter(first) && !has_brackets) {
        fputs(first->name, to);
        return at + 1;
    }
    fprintf(to, "%.*s%s", (int)first->prefix, first->name, has_brackets ? "[" : "");
    for (bool more = true; more;) {
        size_t end = at;

        while (end + 1 < count && is_next(&names[end], &names[end + 1]))
            end++;
        range_write(to, &names[at], &names[end]);
        at = end + 1;
        more = has_brackets && at < count && are_alike(first, &names[at]);
        if (more)
            fputc(',', to);
    }
    if (has_brackets)
        fprintf(to, "]%s", suffix_of(first));
    return at;
}

int name_ranges_format(char **out, const char *const *names, size_t count, struct fault *why)
{
    struct parted_name *parted = calloc(count + 1, sizeof(*parted));
    struct text_stream text;
    FILE *to = parted ? text_stream_open(&text) : NULL;
    char *made = NULL;

    for (size_t i = 0; to && i < count; i++)
        parted[i] = name_part(names[i]);
    if (to)
        qsort(parted, count, sizeof(*parted), compare);
    for (size_t i = 0; to && i < count;) {
        if (i > 0)
            fputc(',', to);
        i = group_write(to, parted, i, count);
    }
    if (to)
        made = text_stream_close(to, &text);
    free(parted);
    if (!made)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = made;
    return 0;
}
