/* SPDX-License-Identifier: MIT */
#include "coordinator/names.h"

#include <stdlib.h>
#include <string.h>

struct name {
    struct name *next;
    char *service, *port;
};

static void name_free(struct name *n)
{
    free(n->service);
    free(n->port);
    free(n);
}

/* Where the name's entry is linked, or where the list ends. */
static struct name **name_find(struct names *n, const char *service)
{
    struct name **at = &n->first;

    while (*at && strcmp((*at)->service, service) != 0)
        at = &(*at)->next;
    return at;
}

static bool name_add(struct names *n, struct name **at, const char *service, const char *port)
{
    struct name *name;

    if (n->count == NAMES_MOST || strlen(service) >= NAMES_TEXT || strlen(port) >= NAMES_TEXT)
        return false;
    name = calloc(1, sizeof(*name));
    if (!name)
        return false;
    name->service = strdup(service);
    name->port = strdup(port);
    if (!name->service || !name->port) {
        name_free(name);
        return false;
    }
    *at = name;
    n->count++;
    return true;
}

bool names_take(struct names *n, const char *what, const char *service, const char **port)
{
    struct name **at = name_find(n, service), *name = *at;

    if (strcmp(what, "publish") == 0)
        return !name && *port && name_add(n, at, service, *port);
    if (!name)
        return false;
    if (strcmp(what, "lookup") == 0) {
        *port = name->port;
        return true;
    }
    if (strcmp(what, "unpublish") != 0)
        return false;
    *at = name->next;
    name_free(name);
    n->count--;
    return true;
}

void names_clear(struct names *n)
{
    struct name *name = n->first, *next;

    for (; name; name = next) {
        next = name->next;
        name_free(name);
    }
    *n = (struct names){0};
}
