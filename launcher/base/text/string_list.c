/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/string_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct fault *why)
{
    return fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* Makes room for one more string and the NULL. The number of places is a power of two, so the array
 * grows only when count + 1 is one. */
static int room_make(struct string_list *l, struct fault *why)
{
    size_t places = l->count + 1;
    char **items;

    if (l->items && (places & (places - 1)) != 0)
        return 0;
    items = realloc(l->items, 2 * places * sizeof(*items));
    if (!items)
        return out_of_memory(why);
    l->items = items;
    return 0;
}

int string_list_add(struct string_list *l, const char *text, struct fault *why)
{
    int rc = room_make(l, why);
    char *copy = NULL;

    if (rc)
        return rc;
    l->items[l->count] = NULL;
    rc = string_copy(&copy, text, why);
    if (rc)
        return rc;
    l->items[l->count++] = copy;
    l->items[l->count] = NULL;
    return 0;
}

int string_list_add_all(struct string_list *l, char *const *items, struct fault *why)
{
    int rc = 0;

    for (; items && *items && !rc; items++)
        rc = string_list_add(l, *items, why);
    return rc;
}

int string_list_release(struct string_list *l, char ***out, struct fault *why)
{
    if (!l->items) {
        l->items = calloc(1, sizeof(*l->items));
        if (!l->items)
            return out_of_memory(why);
    }
    *out = l->items;
    *l = (struct string_list){0};
    return 0;
}

void string_list_clear(struct string_list *l)
{
    strings_free(l->items);
    *l = (struct string_list){0};
}

void strings_free(char **items)
{
    if (!items)
        return;
    for (char **s = items; *s; s++)
        free(*s);
    free(items);
}

bool strings_has(char *const *items, const char *text)
{
    for (; items && *items; items++)
        if (strcmp(*items, text) == 0)
            return true;
    return false;
}

bool strings_equal(char *const *a, char *const *b)
{
    static char *const none[] = {NULL};

    a = a ? a : none;
    b = b ? b : none;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return !*a && !*b;
}

int string_copy(char **out, const char *text, struct fault *why)
{
    char *copy = strdup(text);

    if (!copy)
        return out_of_memory(why);
    *out = copy;
    return 0;
}

int string_format(char **out, struct fault *why, const char *format, ...)
{
    char *text;
    va_list args;
    int n;

    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        return out_of_memory(why);
    *out = text;
    return 0;
}
