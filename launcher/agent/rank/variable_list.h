/* SPDX-License-Identifier: MIT */
/* variable_list.h: an environment while it is put together: NAME=VALUE strings, which it owns. */
#ifndef LAUNCHER_AGENT_RANK_VARIABLE_LIST_H
#define LAUNCHER_AGENT_RANK_VARIABLE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct variable_list {
    char **list; /* NULL-terminated; NULL if nothing was ever added */
    size_t count, room;
    bool failed; /* out of memory: something is missing */
};

#define VARIABLE_FORMAT __attribute__((format(printf, 2, 3)))

/* Adds a variable, or replaces the one of the same name. */
void variable_list_set(struct variable_list *l, const char *format, ...) VARIABLE_FORMAT;

/* Adds a variable whose name is known not to be there. Returns its text, or NULL without memory. */
char *variable_list_append(struct variable_list *l, const char *format, ...) VARIABLE_FORMAT;

/* Adds the variable unless its name is there: what the user has set stays. */
void variable_list_set_default(struct variable_list *l, const char *format, ...) VARIABLE_FORMAT;

/* Appends `value` to the variable's value, after `separator`. */
void variable_list_join(struct variable_list *l, const char *name, const char *separator,
                        const char *value);

/* Returns a variable's value, or NULL. */
const char *variable_list_get(const struct variable_list *l, const char *name);

/* Whether `variable` is NAME=VALUE with this name. */
bool variable_list_is(const char *variable, const char *name);

/* Drops all but the first `keep` variables; 0 also frees the list. */
void variable_list_truncate(struct variable_list *l, size_t keep);

#endif
