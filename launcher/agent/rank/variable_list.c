/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/variable_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

/* Here as below, first letters are compared first: of the thousands of pairs in each job, most
 * differ there. */
static char **variable_find(const struct variable_list *l, const char *name, size_t length)
{
    for (size_t i = 0; i < l->count; i++) {
        const char *variable = l->list[i];

        if (*variable == *name && strncmp(variable, name, length) == 0 && variable[length] == '=')
            return &l->list[i];
    }
    return NULL;
}

/* Takes `variable` over; NULL is a want of memory. */
static char *variable_append(struct variable_list *l, char *variable)
{
    if (variable && l->count + 1 >= l->room) {
        size_t room = l->room * 2 + 64;
        char **more = realloc(l->list, room * sizeof(*more));

        if (!more) {
            free(variable);
            variable = NULL;
        } else {
            l->list = more;
            l->room = room;
        }
    }
    if (!variable) {
        l->failed = true;
        return NULL;
    }
    l->list[l->count++] = variable;
    l->list[l->count] = NULL;
    return variable;
}

static __attribute__((format(printf, 1, 0))) char *format_text(const char *format, va_list args)
{
    char *text;

    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

void variable_list_set(struct variable_list *l, const char *format, ...)
{
    char *variable, **old;
    va_list args;

    va_start(args, format);
    variable = format_text(format, args);
    va_end(args);
    old = variable ? variable_find(l, variable, name_length(variable)) : NULL;
    if (old) {
        free(*old);
        *old = variable;
    } else {
        variable_append(l, variable);
    }
}

char *variable_list_append(struct variable_list *l, const char *format, ...)
{
    char *variable;
    va_list args;

    va_start(args, format);
    variable = format_text(format, args);
    va_end(args);
    return variable_append(l, variable);
}

void variable_list_set_default(struct variable_list *l, const char *format, ...)
{
    va_list args;

    if (variable_find(l, format, name_length(format)))
        return;
    va_start(args, format);
    variable_append(l, format_text(format, args));
    va_end(args);
}

void variable_list_join(struct variable_list *l, const char *name, const char *separator,
                        const char *value)
{
    const char *old = variable_list_get(l, name);

    if (old && *old)
        variable_list_set(l, "%s=%s%s%s", name, old, separator, value);
    else
        variable_list_set(l, "%s=%s", name, value);
}

const char *variable_list_get(const struct variable_list *l, const char *name)
{
    char **variable = variable_find(l, name, strlen(name));

    return variable ? *variable + strlen(name) + 1 : NULL;
}

bool variable_list_is(const char *variable, const char *name)
{
    size_t length;

    if (*variable != *name)
        return false;
    length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

void variable_list_truncate(struct variable_list *l, size_t keep)
{
    while (l->count > keep)
        free(l->list[--l->count]);
    if (l->list)
        l->list[keep] = NULL;
    if (keep == 0) {
        free(l->list);
        *l = (struct variable_list){0};
    }
}
