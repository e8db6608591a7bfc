/* SPDX-License-Identifier: MIT */
/* string_list.h: a growing list of strings that is always a NULL-terminated array. */
#ifndef LAUNCHER_BASE_TEXT_STRING_LIST_H
#define LAUNCHER_BASE_TEXT_STRING_LIST_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty list, in which items is NULL. */
struct string_list {
    char **items;
    size_t count;
};

/* Appends a copy. ML_ERR_MEMORY. */
int string_list_add(struct string_list *l, const char *text, struct fault *why);

/* Appends copies of all strings of an array, which may be NULL. ML_ERR_MEMORY. */
int string_list_add_all(struct string_list *l, char *const *items, struct fault *why);

/* Gives the array to the caller, who frees it with strings_free(), and leaves the list empty. The
 * array of an empty list holds the final NULL alone. ML_ERR_MEMORY. */
int string_list_release(struct string_list *l, char ***out, struct fault *why);
void string_list_clear(struct string_list *l);

/* For NULL-terminated arrays; NULL is an empty one. */
void strings_free(char **items);
bool strings_has(char *const *items, const char *text);
bool strings_equal(char *const *a, char *const *b);

/* strdup() and asprintf() that set a message on failure. *out is owned by the caller. */
int string_copy(char **out, const char *text, struct fault *why);
int string_format(char **out, struct fault *why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
