/* SPDX-License-Identifier: MIT */
/* string_list.h: a growing list of strings that is a NULL-terminated array at any moment. */
#ifndef LAUNCHER_TEXT_STRING_LIST_H
#define LAUNCHER_TEXT_STRING_LIST_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty list. items is NULL until the first string, or string_list_release. */
struct string_list {
    char **items;
    size_t count;
};

/* Appends a copy. ML_ERR_MEMORY. */
int string_list_add(struct string_list *l, const char *text, struct fault *why);
int string_list_add_all(struct string_list *l, char *const *items, struct fault *why); /* or NULL */

/* Hands the array over to the caller, who frees it with strings_free; the list is empty then. An
 * empty list gives an array of no strings, never NULL. ML_ERR_MEMORY. */
int string_list_release(struct string_list *l, char ***out, struct fault *why);
void string_list_clear(struct string_list *l);

/* On plain NULL-terminated arrays; all take NULL as an empty one. */
void strings_free(char **items);
bool strings_has(char *const *items, const char *text);
bool strings_equal(char *const *a, char *const *b);

/* strdup and asprintf that fail with a sentence: *out is owned by the caller. */
int string_copy(char **out, const char *text, struct fault *why);
int string_format(char **out, struct fault *why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
