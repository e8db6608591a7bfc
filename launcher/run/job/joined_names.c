/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/joined_names.h"

#include "launcher/input/hosts/host_list.h"
#include "launcher/input/hosts/host_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct joined_name {
    struct joined_name *next;
    char *text;
};

static bool is_taken(const struct host_list *list, const char *name, int index)
{
    for (int i = 0; i < list->count; i++)
        if (i != index && strcmp(list->hosts[i].name, name) == 0)
            return true;
    return false;
}

/* NULL: out of memory. */
static char *name_make(const struct host_list *list, int index, const char *name)
{
    struct fault why;
    char *out;
    int size;

    if (host_name_check(name, "the host's name", &why) == 0) {
        size = asprintf(&out, is_taken(list, name, index) ? "%s#%d" : "%s", name, index);
        if (size <= HOST_NAME_MOST)
            return size < 0 ? NULL : out;
        free(out);
    }
    return asprintf(&out, "%d of %d", index, list->count) < 0 ? NULL : out;
}

void joined_names_take(struct joined_names *n, struct host_list *list, int index, const char *name)
{
    struct host *h = &list->hosts[index];
    struct joined_name *past = calloc(1, sizeof(*past));
    char *own = name_make(list, index, name);

    if (!past || !own || strcmp(h->name, own) == 0) {
        free(past);
        free(own);
        return;
    }
    *past = (struct joined_name){n->past, h->name};
    n->past = past;
    h->name = own;
}

void joined_names_clear(struct joined_names *n)
{
    while (n->past) {
        struct joined_name *first = n->past;

        n->past = first->next;
        free(first->text);
        free(first);
    }
}
